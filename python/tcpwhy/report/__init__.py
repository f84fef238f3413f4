"""A report of a capture or a store: one page that can be sent, or a text for a ticket."""
