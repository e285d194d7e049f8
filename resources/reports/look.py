"""How the page looks: one style sheet, for a screen of any width and for paper.

Belongs here: CSS. Does not belong here: words or drawings.
"""

STYLE = """
:root{--ink:#1b1b1b;--soft:#575757;--line:#d5d5d5;--paper:#fff;--mark:#8a1c1c}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,"Noto Sans",sans-serif}
main{max-width:62rem;margin:0 auto;padding:1.25rem 1rem 3rem}
.defs{position:absolute}
h1{font-size:1.9rem;line-height:1.2;margin:.2rem 0 .5rem}
h2{font-size:1.3rem;margin:2.4rem 0 .6rem;padding-bottom:.25rem;border-bottom:2px solid var(--ink)}
p{margin:.4rem 0;max-width:48rem;overflow-wrap:anywhere}
.note,small,caption,figcaption{color:var(--soft)}
.state{display:inline-block;margin:0;padding:.1rem .7rem;border:2px solid;font-weight:700}
.state span{font-weight:400}
.provisional .state{color:var(--mark);border-style:dashed}
.warning{border-left:4px solid var(--mark);padding-left:.7rem}
.big{font-size:1.5rem;font-weight:600}
.figures{display:grid;grid-template-columns:repeat(3,1fr);gap:.75rem;margin:1.2rem 0}
.figures div{border:1px solid var(--line);padding:.6rem .8rem}
.figures dt{color:var(--soft)}
.figures dd{margin:0;font-size:1.3rem;font-weight:600;font-variant-numeric:tabular-nums}
.figures small{display:block;font-size:.85rem;font-weight:400}
.facts div{display:grid;grid-template-columns:8rem 1fr;gap:.8rem;padding:.25rem 0}
.facts div{border-bottom:1px solid var(--line)}
.facts dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;width:100%;font-size:.92rem}
caption{text-align:left;padding:.3rem 0}
th,td{padding:.25rem .6rem .25rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
thead th{border-bottom:1px solid var(--ink)}
.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
th.number{white-space:normal}
.bars{table-layout:fixed;margin:.8rem 0 1.2rem}
.bars th{font-weight:400;width:34%;overflow-wrap:anywhere}
.bars td.bar{width:36%;vertical-align:middle}
.bars tfoot th,.bars tfoot td{font-weight:600;border-bottom:0;border-top:1px solid var(--ink)}
svg.bar,svg.chart{display:block}
svg.chart{overflow:visible}
svg text{font-size:12px;fill:var(--ink)}
svg .grid{stroke:var(--line)}
svg .axis{stroke:var(--ink)}
svg .mark{stroke:var(--mark);stroke-width:2;stroke-dasharray:6 4}
figure{margin:.8rem 0}
.legend{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;list-style:none;margin:.3rem 0;padding:0}
.swatch{vertical-align:-3px;border:1px solid var(--ink)}
details{margin:.6rem 0}
summary{cursor:pointer}
.watermark{display:none}
@media(max-width:36rem){
body{font-size:15px}
h1{font-size:1.5rem}
.figures{grid-template-columns:1fr 1fr;gap:.5rem}
.figures dd{font-size:1.05rem}
.bars th{width:36%}.bars td.bar{width:20%}
.wide thead{display:none}
.wide tr{display:block;padding:.4rem 0;border-bottom:1px solid var(--ink)}
.wide td{display:grid;grid-template-columns:9.5rem 1fr;gap:.6rem;border:0;padding:.1rem 0}
.wide td{overflow-wrap:anywhere}
.wide td::before{content:attr(data-name);color:var(--soft)}
.wide td.number{text-align:left;white-space:normal}
.wide td:empty{display:none}
.wide caption{display:block}
.facts div{grid-template-columns:1fr;gap:0}
.facts dt{font-weight:600}
}
@media print{
@page{size:A4;margin:14mm}
body{font-size:10.5pt}
main{max-width:none;padding:0}
h2{break-after:avoid}
table,figure,.figures div{break-inside:avoid}
.scroll{overflow:visible}
.scroll table{font-size:.8rem}
svg,.swatch{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.watermark{display:block;position:fixed;top:40%;left:0;width:100%;text-align:center;font-size:72pt;font-weight:700;
color:rgba(0,0,0,.07);transform:rotate(-28deg);pointer-events:none}
}
""".strip()
