"""How Reelwright touches the world: one room an adapter; adapters take plain values and never look up."""
