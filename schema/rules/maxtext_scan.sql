-- maxtext_scan.sql - one tensor per layer as MaxText's scanned layers; the inverse of
-- maxtext_unscan.
INSERT INTO ruleset(name, dialect, options) VALUES ('maxtext_scan', 'convert', '{
  "unmatched": "keep"
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('maxtext_scan', 1, '(.*/decoder/(?:dense_|moe_)?layers)_(\d+)/(.+)',
 '\1/\3', NULL, '[["stack", 1, "\\2"]]');
