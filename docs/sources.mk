# sources of docs
dist_doc_DATA = docs/schema.md
