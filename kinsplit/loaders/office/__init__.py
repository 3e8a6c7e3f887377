"""Parts of Word documents and presentations."""
