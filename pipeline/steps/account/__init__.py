"""What was used becomes money: metered, rated, closed by the month, laid beside invoices; a verb a file."""
