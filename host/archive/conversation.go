package archive

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
)

// Limits of a conversation.
const (
	maxEntry        = 64 << 20  // bytes of one entry, as JSON
	maxEntries      = 100_000   // entries of a conversation
	maxConversation = 512 << 20 // bytes of all entries of a conversation
)

// idLength is the number of characters of an id. The alphabet has 32 characters.
const idLength = 8

// Meta describes a conversation.
type Meta struct {
	// ID identifies the conversation with eight letters and digits. Methods also accept a prefix of
	// an id that no other id shares.
	ID string `json:"id"`
	// Model and Folder are the model's name and the working directory at the start.
	Model  string `json:"model,omitempty"`
	Folder string `json:"folder,omitempty"`
	// Setup is data that the program needs to continue the conversation, in a format of its own.
	// Exports do not contain it.
	Setup string `json:"-"`
	// Title is a name for users: the last one given, or else the first line of the first question.
	Title string `json:"title,omitempty"`
	// Parent is the ID of the conversation that this one was forked from.
	Parent string `json:"parent,omitempty"`
	// Created is the time of the start, and Changed the time of the last entry.
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	// Entries, Questions and Calls are the numbers of entries, of messages from the user, and of
	// calls that the model requested.
	Entries   int `json:"entries"`
	Questions int `json:"questions"`
	Calls     int `json:"calls"`
	// Tokens and Cost (US dollars) are the sums over its runs, including the runs copied from its
	// parent.
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost"`
	// Match is the part of a message that matches the search, if there was one.
	Match string `json:"match,omitempty"`
}

// Conversation is the record of one conversation and implements [host.Record].
type Conversation struct {
	archive *Archive

	mu     sync.Mutex
	meta   Meta
	bytes  int
	stored bool // the archive has a row for it
}

// New starts a conversation with the Model, Folder, Setup and Title of meta. It is not stored or
// listed before its first entry.
func (a *Archive) New(meta Meta) *Conversation {
	now := time.Now()
	return &Conversation{archive: a, meta: Meta{
		ID:      strings.ToLower(rand.Text()[:idLength]),
		Model:   meta.Model,
		Folder:  meta.Folder,
		Setup:   meta.Setup,
		Title:   titleOf(meta.Title),
		Created: now,
		Changed: now,
	}}
}

// Meta returns the current description of the conversation.
func (c *Conversation) Meta() Meta {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.meta
}

// Append adds an entry and returns after it is on the disk. After an error the conversation is
// unchanged, and the caller can append the entry again. The error is [ErrContinued] if another
// program appended to the conversation after it was loaded.
func (c *Conversation) Append(e host.Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, err := json.Marshal(e, dialect)
	if err != nil {
		return c.archive.file.Fail("append to "+c.meta.ID, err)
	}
	next := c.with(&e, text)
	err = c.archive.file.Change(context.Background(), "append to "+c.meta.ID, func(tx *sql.Tx) error {
		if !c.stored {
			if err := insertConversation(tx, &next.meta); err != nil {
				return err
			}
		}
		return next.store(tx, text)
	})
	if err != nil {
		return err
	}
	c.meta, c.bytes, c.stored = next.meta, next.bytes, true
	return nil
}

// SetSetup changes Meta.Setup of a stored conversation.
func (a *Archive) SetSetup(ctx context.Context, id, setup string) error {
	return a.file.Change(ctx, "change "+id, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE conversations SET setup = ? WHERE id = ?`, setup, id)
		return err
	})
}

// growth is the next state of a conversation, with one more entry.
type growth struct {
	meta  Meta
	bytes int
	text  string // searchable text of the entry
}

func (c *Conversation) with(e *host.Entry, text []byte) growth {
	g := growth{meta: c.meta, bytes: c.bytes + len(text)}
	m := &g.meta
	m.Entries++
	if m.Changed = e.At; e.At.IsZero() {
		m.Changed = time.Now()
	}
	if e.Totals != nil {
		m.Cost += e.Totals.Cost
		m.Tokens += e.Totals.Usage.Input + e.Totals.Usage.Output
	}
	if e.Message != nil {
		g.text = searchable(e.Message)
		m.Calls += len(e.Message.Calls())
		if e.Message.Role == model.RoleUser {
			m.Questions++
			m.Title = cmp.Or(m.Title, titleOf(e.Shown), titleOf(firstText(e.Message)))
		}
	}
	m.Title = cmp.Or(titleOf(e.Title), m.Title)
	return g
}

// store writes the entry, and the conversation's row with its new values.
func (g *growth) store(tx *sql.Tx, text []byte) error {
	switch {
	case len(text) > maxEntry:
		return fmt.Errorf("an entry of %d bytes: %w: at most %d", len(text), ErrTooLarge, maxEntry)
	case g.meta.Entries > maxEntries:
		return fmt.Errorf("more than %d entries: %w; begin a new conversation", maxEntries, ErrTooLarge)
	case g.bytes > maxConversation:
		return fmt.Errorf("more than %d bytes: %w; begin a new conversation", maxConversation, ErrTooLarge)
	}
	added, err := tx.Exec(`INSERT INTO entries (conversation, number, entry) VALUES (?, ?, ?)`, g.meta.ID, g.meta.Entries, string(text))
	switch {
	case isTaken(err):
		return ErrContinued
	case isOrphan(err):
		return ErrNotFound
	case err != nil:
		return err
	}
	row, err := added.LastInsertId()
	if err != nil {
		return err
	}
	if g.text != "" {
		if _, err := tx.Exec(`INSERT INTO texts (rowid, text) VALUES (?, ?)`, row, g.text); err != nil {
			return err
		}
	}
	m := &g.meta
	_, err = tx.Exec(`UPDATE conversations SET title = ?, changed = ?, entries = ?, bytes = ?, questions = ?, calls = ?,
		tokens = ?, cost = ? WHERE id = ?`,
		m.Title, m.Changed.UnixMicro(), m.Entries, g.bytes, m.Questions, m.Calls, m.Tokens, m.Cost, m.ID)
	return err
}

func insertConversation(tx *sql.Tx, m *Meta) error {
	_, err := tx.Exec(`INSERT INTO conversations (id, model, folder, setup, title, parent, created, changed, entries, bytes, questions, calls, tokens, cost)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0)`,
		m.ID, m.Model, m.Folder, m.Setup, m.Title, m.Parent, m.Created.UnixMicro(), m.Changed.UnixMicro())
	return err
}

// dialect holds the JSON options for entries: the format of encoding/json, so that other programs
// can read an export, but case-sensitive. Invalid UTF-8 and duplicate names from a model or a
// server are accepted, because they must not end a run.
var dialect = json.JoinOptions(
	json.DefaultOptionsV2(),
	jsonv1.OmitEmptyWithLegacySemantics(true),
	jsonv1.FormatDurationAsNano(true),
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
)

// maxTitle is the number of characters of a title made from a question. maxIndexed is the number of
// bytes of one message that can be searched.
const (
	maxTitle   = 80
	maxIndexed = 64 << 10
)

// firstText returns the first text of a message, which the user wrote. Attachments follow it.
func firstText(m *model.Message) string {
	for _, p := range m.Parts {
		if strings.TrimSpace(p.Text) != "" {
			return p.Text
		}
	}
	return ""
}

// titleOf returns the first line of a text, shortened to a title.
func titleOf(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(plaintext.Line(first, maxTitle))
}

// searchable returns the text of a message for the search: the words of users and models, the names
// of called tools, and the beginning of results.
func searchable(m *model.Message) string {
	var b strings.Builder
	add := func(text string) {
		if text = strings.TrimSpace(text); text == "" || b.Len() >= maxIndexed {
			return
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(plaintext.Beginning(text, maxIndexed-b.Len()))
	}
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Call != nil:
			add(p.Call.Name + " " + string(p.Call.Arguments))
		case p.Result != nil:
			add(p.Result.Text())
		default:
			add(p.Text)
		}
	}
	return b.String()
}

// Limits of a list.
const (
	defaultListed = 50    // conversations, if the filter has no limit
	maxListed     = 1_000 // conversations at most
	maxSearched   = 16    // words of one search
	maxMatch      = 100   // characters of Meta.Match
	gram          = 3     // minimum length in characters of a word that the index can find
)

// Filter selects conversations; the zero value selects the newest 50.
type Filter struct {
	// Folder is the working directory at the start of the conversations.
	Folder string
	// Search holds words that must all occur in the title or in the messages, also as parts of
	// other words. Case does not matter.
	Search string
	// Limit is the maximum number of conversations; 0 means 50, and values above 1,000 mean 1,000.
	Limit int
}

// List returns the conversations that f selects, the last changed first.
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
		args = append(args, likePattern(word), arg)
	}
	limit := f.Limit
	if limit <= 0 {
		limit = defaultListed
	}
	return query + ` ORDER BY changed DESC, id LIMIT ?`, append(args, min(limit, maxListed))
}

// contains returns an SQL condition for texts that contain the word. It scans all texts if the word
// is too short for the index.
func contains(word string) (condition, arg string) {
	if utf8.RuneCountInString(word) < gram {
		return `text LIKE ? ESCAPE '\'`, likePattern(word)
	}
	return `texts MATCH ?`, `"` + strings.ReplaceAll(word, `"`, `""`) + `"`
}

func likePattern(word string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(word) + "%"
}

// excerpt returns the part of text around the first search word.
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

// Last is an id that means the conversation with the latest change.
const Last = "last"

// columns lists the columns that scan reads, in the same order.
const columns = `id, model, folder, setup, title, parent, created, changed, entries, questions, calls, tokens, cost, bytes`

// Load reads a conversation and its entries. New entries are appended to them. id may be an
// unambiguous prefix of an id, or [Last]. The error is [ErrNotFound] or [ErrAmbiguous] if the id
// does not select one conversation.
func (a *Archive) Load(ctx context.Context, id string) (*Conversation, []host.Entry, error) {
	c := &Conversation{archive: a, stored: true}
	var entries []host.Entry
	err := a.file.Read(ctx, "load "+id, func(tx *sql.Tx) (err error) {
		if c.meta, c.bytes, err = find(ctx, tx, id); err != nil {
			return err
		}
		return eachEntry(ctx, tx, c.meta.ID, c.meta.Entries, func(_ int, e *host.Entry, _ []byte, damage error) error {
			entries = append(entries, *e)
			return damage
		})
	})
	if err != nil {
		return nil, nil, err
	}
	return c, entries, nil
}

// Meta returns the description of the conversation that [Archive.Load] would load.
func (a *Archive) Meta(ctx context.Context, id string) (Meta, error) {
	var meta Meta
	err := a.file.Read(ctx, "load "+id, func(tx *sql.Tx) (err error) {
		meta, _, err = find(ctx, tx, id)
		return err
	})
	return meta, err
}

// find reads the row of a conversation.
func find(ctx context.Context, tx *sql.Tx, id string) (Meta, int, error) {
	query, args := `SELECT `+columns+` FROM conversations WHERE id >= ? AND id < ? ORDER BY id LIMIT 2`, []any{id, id + "\x7f"}
	switch {
	case id == Last:
		query, args = `SELECT `+columns+` FROM conversations ORDER BY changed DESC, id LIMIT 1`, nil
	case id == "" || strings.ContainsFunc(id, isNotOfID):
		return Meta{}, 0, ErrNotFound
	}
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return Meta{}, 0, err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return Meta{}, 0, err
		}
		return Meta{}, 0, ErrNotFound
	}
	meta, bytes, err := scan(rows)
	if err == nil && meta.ID != id && rows.Next() {
		err = ErrAmbiguous
	}
	return meta, bytes, err
}

func isNotOfID(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }

// scan reads a row with columns, followed by the columns for more.
func scan(rows *sql.Rows, more ...any) (Meta, int, error) {
	var m Meta
	var created, changed int64
	var bytes int
	into := []any{&m.ID, &m.Model, &m.Folder, &m.Setup, &m.Title, &m.Parent, &created, &changed, &m.Entries, &m.Questions, &m.Calls, &m.Tokens, &m.Cost, &bytes}
	err := rows.Scan(append(into, more...)...)
	m.Created, m.Changed = time.UnixMicro(created), time.UnixMicro(changed)
	return m, bytes, err
}

// eachEntry calls f with the first upto entries of a conversation, in order. damage is the error
// for an entry that cannot be read, which is then empty, or that follows a gap.
func eachEntry(ctx context.Context, tx *sql.Tx, id string, upto int, f func(number int, e *host.Entry, text []byte, damage error) error) error {
	rows, err := tx.QueryContext(ctx, `SELECT number, entry FROM entries WHERE conversation = ? AND number <= ? ORDER BY number`, id, upto)
	if err != nil {
		return err
	}
	defer rows.Close()
	for next := 1; rows.Next(); next++ {
		var number int
		var text []byte
		if err := rows.Scan(&number, &text); err != nil {
			return err
		}
		var e host.Entry
		damage := json.Unmarshal(text, &e, dialect)
		switch {
		case damage != nil:
			e = host.Entry{}
		case number != next:
			damage = fmt.Errorf("entry %d is missing", next)
		}
		if damage != nil {
			damage = fmt.Errorf("entry %d of %s: %w (%w); fork the conversation at %d to continue with the entries before it", next, id, ErrDamaged, damage, next-1)
		}
		if err := f(number, &e, text, damage); err != nil {
			return err
		}
	}
	return rows.Err()
}
