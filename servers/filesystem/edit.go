package filesystem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Limits of edits.
const (
	maxEditSize = 8 << 20  // bytes of a file to edit
	maxDiff     = 64 << 10 // bytes of a diff in a result
	shownPlaces = 5        // line numbers in an error
)

type editInput struct {
	Path   string `json:"path" doc:"Absolute path, or the root's name and what follows, such as root/folder/file.txt."`
	Edits  []edit `json:"edits" doc:"Made one after the other; all of them or none." min:"1" max:"100"`
	DryRun bool   `json:"dry_run,omitempty" doc:"Only show the diff; change nothing."`
}

type edit struct {
	Old string `json:"old" doc:"Text as it stands in the file, with its indentation and line ends." min:"1"`
	New string `json:"new" doc:"What to put in its place; empty to take it out."`
	All bool   `json:"all,omitempty" doc:"Replace every occurrence, not the only one."`
}

type editOutput struct {
	Path         string `json:"path"`
	Replacements int    `json:"replacements"`
	Changed      bool   `json:"changed" doc:"The file was written; false after a dry run."`
	Diff         string `json:"diff" doc:"What changed, as a unified diff."`
}

func (f *files) editFile(_ context.Context, in editInput) (editOutput, error) {
	p, err := f.find(in.Path)
	if err != nil {
		return editOutput{}, err
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	before, err := p.editable()
	if err != nil {
		return editOutput{}, err
	}
	after, out := string(before), editOutput{Path: p.String()}
	for i, e := range in.Edits {
		edited, n, err := e.apply(after)
		if err != nil {
			return editOutput{}, fmt.Errorf("%s: edit %d of %d: %w; nothing was changed", p, i+1, len(in.Edits), err)
		}
		after = edited
		out.Replacements += n
	}
	out.Diff = unified(p.String(), before, []byte(after))
	if in.DryRun || after == string(before) {
		return out, nil
	}
	if now, err := p.editable(); err != nil || !bytes.Equal(now, before) {
		return editOutput{}, fmt.Errorf("%s: it changed meanwhile; read it again", p)
	}
	if _, err := p.replace([]byte(after), true); err != nil {
		return editOutput{}, err
	}
	out.Changed = true
	f.log.Info("filesystem: edited a file", "path", out.Path, "replacements", out.Replacements)
	return out, nil
}

// editable returns the content of a text file. It returns an error if the file is too large to
// edit.
func (p place) editable() ([]byte, error) {
	file, info, err := p.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxEditSize+1))
	switch {
	case err != nil:
		return nil, p.wrap(err)
	case len(data) > maxEditSize:
		return nil, fmt.Errorf("%s: has %d bytes; at most %d can be edited", p, info.Size(), maxEditSize)
	case !isText(data, false):
		return nil, fmt.Errorf("%s: is not UTF-8 text and cannot be edited; use write-file", p)
	}
	return data, nil
}

// apply makes one edit and returns the new text and the number of replacements. If most lines of
// the file end in CRLF, an LF in the edit matches and becomes CRLF.
func (e edit) apply(text string) (string, int, error) {
	found := strings.Count(text, e.Old)
	if strings.Count(text, "\r\n")*2 > strings.Count(text, "\n") {
		if !strings.Contains(e.Old, "\r") && (found == 0 || e.Old[0] == '\n') { // a single LF would also match inside CRLF
			e.Old = strings.ReplaceAll(e.Old, "\n", "\r\n")
			found = strings.Count(text, e.Old)
		}
		if !strings.Contains(e.New, "\r") {
			e.New = strings.ReplaceAll(e.New, "\n", "\r\n")
		}
	}
	switch {
	case found == 0:
		return "", 0, errors.New("the old text does not occur; read the file and copy the text exactly")
	case found > 1 && !e.All:
		return "", 0, fmt.Errorf("the old text occurs %d times (lines %s); add text around it to make it unique, or set all", found, linesOf(text, e.Old))
	case len(text)+found*(len(e.New)-len(e.Old)) > maxEditSize:
		return "", 0, fmt.Errorf("the file would become larger than %d bytes", maxEditSize)
	}
	return strings.ReplaceAll(text, e.Old, e.New), found, nil
}

// linesOf returns the numbers of the first lines in which old begins.
func linesOf(text, old string) string {
	var at []string
	line := 1
	for len(at) < shownPlaces {
		i := strings.Index(text, old)
		if i < 0 {
			return strings.Join(at, ", ")
		}
		line += strings.Count(text[:i], "\n")
		at = append(at, fmt.Sprint(line))
		line += strings.Count(old, "\n")
		text = text[i+len(old):]
	}
	if strings.Contains(text, old) {
		at = append(at, "…")
	}
	return strings.Join(at, ", ")
}

// unified returns a unified diff, cut off at maxDiff.
func unified(name string, before, after []byte) string {
	text := diff.Diff(name, before, name, after)
	if _, rest, found := bytes.Cut(text, []byte("\n")); found { // drop the line with the diff command
		text = rest
	}
	if len(text) <= maxDiff {
		return string(text)
	}
	return string(wholeRunes(text[:maxDiff])) + "\n… the diff is longer"
}
