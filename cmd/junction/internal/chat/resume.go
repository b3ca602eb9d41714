package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// A chatStart holds the model and the servers of a conversation, to be stored as JSON. A resumed
// conversation uses them unless the command line names others.
type chatStart struct {
	ModelFlags

	Servers []string `json:"servers,omitempty"` // named servers; empty means all configured ones
	Up      string   `json:"up,omitempty"`
	Single  bool     `json:"single,omitempty"` // whether the conversation was begun with -p or on standard input
}

// Start returns the [chatStart] of the current conversation, with the given model.
func (t *Setup) Start(m ModelFlags) string {
	s := chatStart{ModelFlags: m, Single: !t.Flags.OnScreen}
	if s.Model == "" && s.BaseURL == "" {
		s.Model = t.App.Getenv(ModelEnv)
	}
	if !isPlainURL(s.BaseURL) {
		s.BaseURL = ""
	}
	if isPlainURL(t.Flags.up) {
		s.Up = t.Flags.up
	}
	if t.ResumeWords() == "" {
		s.Servers = t.Names
	}
	text, _ := json.Marshal(s) // encoding strings and numbers cannot fail
	return string(text)
}

// isPlainURL reports whether a URL has no part that may contain a secret.
func isPlainURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.User == nil && u.RawQuery == ""
}

// ResumeWords returns the words that the user must repeat to resume the conversation: the command
// of a server, and addresses that may contain a secret.
func (t *Setup) ResumeWords() string {
	words := ""
	for _, name := range t.Names {
		if strings.Contains(name, ":") && !isPlainURL(name) || t.Line != nil {
			words += " " + plaintext.ShellWord(name)
		}
	}
	if t.Line != nil {
		words += " --"
	}
	for _, word := range t.Line {
		words += " " + plaintext.ShellWord(word)
	}
	return words
}

// resumeConversation finds the conversation to resume or copy, and takes flags that are not given
// from it.
func (t *Setup) resumeConversation(ctx context.Context) error {
	f := t.Flags
	if len(t.Names) > 0 && t.resumes(ctx, t.Names[0]) {
		f.resume, t.Names = t.Names[0], t.Names[1:]
	}
	if f.resume+f.fork == "" {
		return nil
	}
	if f.resume != "" && f.fork != "" {
		return cli.Usagef("--resume and --fork: give one of them")
	}
	if t.Archive == nil {
		return cli.Usagef("--resume and --fork do not go with --no-save")
	}
	t.wantsLast = f.resume == archive.Last
	id := &f.resume
	if f.fork != "" {
		id = &f.fork
	}
	var meta archive.Meta
	var err error
	if *id == archive.Last {
		meta, err = t.Last(ctx)
	} else {
		meta, err = t.Archive.Meta(ctx, *id)
	}
	if err != nil {
		return storedFault(*id, err)
	}
	*id = meta.ID
	var s chatStart
	if json.Unmarshal([]byte(meta.Setup), &s) != nil {
		return nil // written by an older version, or imported
	}
	if f.Model.Model == "" && f.Model.BaseURL == "" {
		s.Effort = cmp.Or(f.Model.Effort, s.Effort)
		f.Model = s.ModelFlags
	}
	if len(t.Names) == 0 && t.Line == nil && f.up == "" {
		t.Names, f.up = s.Servers, s.Up
	}
	return nil
}

// Last returns the most recently changed conversation of this folder. It returns a conversation of
// single questions only for another single question.
func (t *Setup) Last(ctx context.Context) (archive.Meta, error) {
	folder, err := t.App.Getwd()
	if err != nil {
		return archive.Meta{}, err
	}
	metas, err := t.Archive.List(ctx, archive.Filter{Folder: folder, Limit: maxLooked})
	for _, m := range metas {
		if !t.Flags.OnScreen || !isSingle(m) {
			return m, nil
		}
	}
	if err == nil {
		err = cli.Usagef("this folder has no conversation to continue; junction chat history list shows those of other folders, and --resume=ID continues one")
	}
	return archive.Meta{}, err
}

// maxLooked is the largest number of conversations that are searched for the last one.
const maxLooked = 1_000

// isSingle reports whether a conversation consists of single questions.
func isSingle(m archive.Meta) bool {
	var s chatStart
	return json.Unmarshal([]byte(m.Setup), &s) == nil && s.Single
}
