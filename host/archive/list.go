package archive

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// The limits of a list.
const (
	defaultListed = 50    // conversations, where the filter does not say
	maxListed     = 1_000 // conversations in any case
	maxSearched   = 16    // words of one search
	maxMatch      = 100   // characters of Meta.Match
	gram          = 3     // characters that the index can find at least
)

// Filter chooses conversations; the zero value chooses the newest 50.
type Filter struct {
	// Folder is the working directory that they were begun in.
	Folder string
	// Search are words, each of which must occur in the title or in some message:
	// anywhere in it, in upper or lower case.
	Search string
	// Limit is how many at most; 0 means 50, and more than 1,000 means 1,000.
	Limit int
}

// List returns the conversations that f chooses, the last changed first.
func (a *Archive) List(ctx context.Context, f Filter) ([]Meta, error) {
	query, args := f.query()
	rows, err := a.file.DB.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, a.file.Fail("list", err)
	}
	defer rows.Close()
	list := []Meta{}
	for rows.Next() {
		var match string
		meta, _, err := scan(rows, &match)
		if err != nil {
			return nil, a.file.Fail("list", err)
		}
		meta.Match = excerpt(match, f.words())
		list = append(list, meta)
	}
	return list, a.file.Fail("list", rows.Err())
}

func (f *Filter) words() []string {
	words := strings.Fields(strings.ToValidUTF8(strings.ReplaceAll(f.Search, "\x00", " "), ""))
	return words[:min(len(words), maxSearched)]
}

func (f *Filter) query() (string, []any) {
	words := f.words()
	match, args := `''`, []any{}
	if len(words) > 0 {
		condition, arg := contains(words[0])
		match = `coalesce((SELECT text FROM texts JOIN entries ON row = texts.rowid WHERE conversation = c.id AND ` + condition + ` ORDER BY row LIMIT 1), '')`
		args = append(args, arg)
	}
	query := `SELECT ` + columns + `, ` + match + ` FROM conversations c WHERE true`
	if f.Folder != "" {
		query += ` AND folder = ?`
		args = append(args, f.Folder)
	}
	for _, word := range words {
		condition, arg := contains(word)
		query += ` AND (title LIKE ? ESCAPE '\' OR id IN (SELECT conversation FROM texts JOIN entries ON row = texts.rowid WHERE ` + condition + `))`
		args = append(args, like(word), arg)
	}
	limit := f.Limit
	if limit <= 0 {
		limit = defaultListed
	}
	return query + ` ORDER BY changed DESC, id LIMIT ?`, append(args, min(limit, maxListed))
}

// contains is a condition for texts that hold the word. One that is too short
// for the index is looked for in all of them.
func contains(word string) (condition, arg string) {
	if utf8.RuneCountInString(word) < gram {
		return `text LIKE ? ESCAPE '\'`, like(word)
	}
	return `texts MATCH ?`, `"` + strings.ReplaceAll(word, `"`, `""`) + `"`
}

func like(word string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(word) + "%"
}

// excerpt is the part of text around the first of the words.
func excerpt(text string, words []string) string {
	if text == "" || len(words) == 0 {
		return ""
	}
	at := max(0, strings.Index(strings.ToLower(text), strings.ToLower(words[0])))
	at = len(plaintext.Beginning(text, max(0, min(at, len(text))-maxMatch/3)))
	begin := text[at:]
	if at > 0 {
		if _, rest, ok := strings.Cut(plaintext.Beginning(begin, maxMatch/3), " "); ok {
			begin = begin[len(plaintext.Beginning(begin, maxMatch/3))-len(rest):]
		}
		begin = "…" + begin
	}
	return plaintext.Line(begin, maxMatch)
}
