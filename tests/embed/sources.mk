# make check-embed
UNIT_TESTS += tests/embed/unit_kmeans tests/embed/unit_saec tests/embed/unit_embed tests/embed/unit_embed_hand
