"""Parts of a source: pages, elements, rows and chunks, joined to the document that they were cut from."""
