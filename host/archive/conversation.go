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

// The limits of a conversation.
const (
	maxEntry        = 64 << 20  // bytes of one entry, as JSON
	maxEntries      = 100_000   // entries of a conversation
	maxConversation = 512 << 20 // bytes of all of them
)

// idLength is how many characters an id has, of 32 different ones.
const idLength = 8

// Meta describes a conversation.
type Meta struct {
	// ID names it: eight letters and digits. Where an id is asked for, any
	// beginning that only one conversation has is enough.
	ID string `json:"id"`
	// Model and Folder are what it was begun with: the model's name, and the working directory.
	Model  string `json:"model,omitempty"`
	Folder string `json:"folder,omitempty"`
	// Setup is what the program that has the conversation needs to go on with it, in a form of its own. It stays
	// on this machine: an export has none.
	Setup string `json:"-"`
	// Title is its name for users: the last one that was given, or else the first line of the first question.
	Title string `json:"title,omitempty"`
	// Parent is the conversation that it was forked from.
	Parent string `json:"parent,omitempty"`
	// Created and Changed are when it began and when the last entry was added.
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	// Entries, Questions and Calls count its entries, the messages of the user,
	// and the calls that the model asked for.
	Entries   int `json:"entries"`
	Questions int `json:"questions"`
	Calls     int `json:"calls"`
	// Tokens and Cost (US dollars) are what its runs used, those of its parent included that it holds.
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost"`
	// Match is the part of a message that a search found; else it is empty.
	Match string `json:"match,omitempty"`
}

// Conversation is the record of one conversation; it is a [host.Record].
type Conversation struct {
	archive *Archive

	mu     sync.Mutex
	meta   Meta
	bytes  int
	stored bool // whether the archive has it
}

// New begins a conversation. Of meta only Model, Folder, Setup and Title count. Nothing
// is stored, nor listed, before the first entry comes.
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

// Meta describes the conversation as it is now.
func (c *Conversation) Meta() Meta {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.meta
}

// Append adds an entry; when it returns, the entry is on the disk. On an error the conversation is as it was before,
// and the entry can be appended again. The error is [ErrContinued] where somebody else appended since it was loaded.
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

// growth is a conversation with one more entry.
type growth struct {
	meta  Meta
	bytes int
	text  string // of the entry, to be searched
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

// store writes the entry and what it changes in the conversation.
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

// dialect is the JSON of entries: what encoding/json writes, so that other programs can read an export, but
// case-sensitive. What a model or a server wrote is kept even where it is odd: a run must not end because of it.
var dialect = json.JoinOptions(
	json.DefaultOptionsV2(),
	jsonv1.OmitEmptyWithLegacySemantics(true),
	jsonv1.FormatDurationAsNano(true),
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
)

// maxTitle is how many characters of a question make a title, and maxIndexed how
// many bytes of one message can be searched.
const (
	maxTitle   = 80
	maxIndexed = 64 << 10
)

// firstText returns what a user wrote, without what they attached behind it.
func firstText(m *model.Message) string {
	for _, p := range m.Parts {
		if strings.TrimSpace(p.Text) != "" {
			return p.Text
		}
	}
	return ""
}

// titleOf makes a title of the first line of a text.
func titleOf(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(plaintext.Line(first, maxTitle))
}

// searchable returns what of a message can be searched: what people and models said,
// what was called, and the beginning of what came back.
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

// contains returns a condition for texts that hold the word. One that is too short
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

// excerpt returns the part of text around the first of the words.
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

// Last is what is given for an id to mean the conversation that changed last.
const Last = "last"

// columns are those that scan reads, in its order.
const columns = `id, model, folder, setup, title, parent, created, changed, entries, questions, calls, tokens, cost, bytes`

// Load reads a conversation and its entries, so that it can go on: what is appended comes after them. id may be a
// beginning of the id that no other conversation has, or [Last]; else the error is [ErrNotFound] or [ErrAmbiguous].
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

// Meta describes a conversation, which [Archive.Load] would find by the same id.
func (a *Archive) Meta(ctx context.Context, id string) (Meta, error) {
	var meta Meta
	err := a.file.Read(ctx, "load "+id, func(tx *sql.Tx) (err error) {
		meta, _, err = find(ctx, tx, id)
		return err
	})
	return meta, err
}

// find reads what the archive knows of a conversation.
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

// scan reads a row of columns, and whatever comes after them.
func scan(rows *sql.Rows, more ...any) (Meta, int, error) {
	var m Meta
	var created, changed int64
	var bytes int
	into := []any{&m.ID, &m.Model, &m.Folder, &m.Setup, &m.Title, &m.Parent, &created, &changed, &m.Entries, &m.Questions, &m.Calls, &m.Tokens, &m.Cost, &bytes}
	err := rows.Scan(append(into, more...)...)
	m.Created, m.Changed = time.UnixMicro(created), time.UnixMicro(changed)
	return m, bytes, err
}

// eachEntry calls f with the first upto entries of a conversation, in order, and what is wrong with each. One that
// cannot be read is an empty one.
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
			damage = fmt.Errorf("entry %d of %s: %w (%w); fork it at %d to go on with what comes before", next, id, ErrDamaged, damage, next-1)
		}
		if err := f(number, &e, text, damage); err != nil {
			return err
		}
	}
	return rows.Err()
}
