"""What happens to a campaign.

Read the rooms from the bottom up: domain, documents, steps, assets, jobs, api, cli.
"""
