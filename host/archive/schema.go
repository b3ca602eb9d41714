package archive

// mark is the application id in the header of our files: "junc".
const mark = 0x6a756e63

// migrations make of each version of the file the next one. They are only ever
// added to. The texts are searched by their trigrams, which needs no words: so
// parts of identifiers and scripts without spaces are found too.
var migrations = []string{`
	CREATE TABLE conversations (
		id TEXT PRIMARY KEY,
		model TEXT NOT NULL,
		folder TEXT NOT NULL,
		title TEXT NOT NULL,
		parent TEXT NOT NULL,
		created INTEGER NOT NULL,
		changed INTEGER NOT NULL,
		entries INTEGER NOT NULL,
		bytes INTEGER NOT NULL,
		questions INTEGER NOT NULL,
		calls INTEGER NOT NULL,
		tokens INTEGER NOT NULL,
		cost REAL NOT NULL
	) STRICT;
	CREATE INDEX conversations_changed ON conversations (changed);
	CREATE TABLE entries (
		row INTEGER PRIMARY KEY,
		conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
		number INTEGER NOT NULL,
		entry TEXT NOT NULL CHECK (json_valid(entry)),
		UNIQUE (conversation, number)
	) STRICT;
	CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'trigram');
	INSERT INTO texts (texts, rank) VALUES ('secure-delete', 1);
	CREATE TABLE memory (
		key TEXT PRIMARY KEY,
		value TEXT NOT NULL CHECK (json_valid(value))
	) STRICT, WITHOUT ROWID;
`, `
	CREATE TABLE notes (
		row INTEGER PRIMARY KEY AUTOINCREMENT,
		at INTEGER NOT NULL,
		labels TEXT NOT NULL,
		text TEXT NOT NULL
	) STRICT;
	CREATE VIRTUAL TABLE note_texts USING fts5 (text, tokenize = 'trigram');
	INSERT INTO note_texts (note_texts, rank) VALUES ('secure-delete', 1);
`, `
	ALTER TABLE conversations ADD COLUMN setup TEXT NOT NULL DEFAULT '';
`}
