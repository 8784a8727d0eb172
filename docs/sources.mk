# sources of docs
EXTRA_DIST += docs/performance.md
