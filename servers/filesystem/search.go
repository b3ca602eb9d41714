package filesystem

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a search.
const (
	searchTime    = 10 * time.Second
	maxVisited    = 200_000 // maximum number of files and folders
	maxSearchSize = 16 << 20
	maxShownLine  = 300       // bytes shown of a matching line
	maxMatchLine  = 256 << 10 // bytes of a line that is searched
)

type searchInput struct {
	Path       string `json:"path" doc:"Folder (or file) to search: absolute path, or the root's name and what follows."`
	Name       string `json:"name,omitempty" doc:"Pattern for names: *.go, or with slashes for the path below the folder: docs/**/*.{md,txt}."`
	Text       string `json:"text,omitempty" doc:"What a line of the file contains."`
	Regexp     bool   `json:"regexp,omitempty" doc:"text is a regular expression (RE2)."`
	IgnoreCase bool   `json:"ignore_case,omitempty" doc:"Upper and lower case are the same in text."`
	Limit      int    `json:"limit,omitempty" doc:"How many matches to return at most." min:"1" max:"1000" default:"100"`
}

type searchOutput struct {
	Matches []match `json:"matches" doc:"What was found: files and folders if only names were searched, else lines."`
	Note    string  `json:"note,omitempty" doc:"Why the answer may not be complete."`
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty" doc:"Counted from 1."`
	Text string `json:"text,omitempty" doc:"The line."`
}

// errEnough ends a search that reached a limit.
var errEnough = errors.New("enough")

// A searching is a running search.
type searching struct {
	top     place
	name    func(rel string) bool
	text    *regexp.Regexp // nil: match names only
	limit   int
	visited int
	skipped int // number of files too large to search
	out     searchOutput
}

func (f *files) search(ctx context.Context, in searchInput) (searchOutput, error) {
	p, err := f.find(in.Path)
	if err != nil {
		return searchOutput{}, err
	}
	if in.Name == "" && in.Text == "" {
		return searchOutput{}, errors.New("name or text: at least one must be given")
	}
	s := &searching{top: p, limit: in.Limit, out: searchOutput{Matches: []match{}}}
	if s.name, err = compileGlob(in.Name); err != nil {
		return searchOutput{}, err
	}
	if s.text, err = compileText(in); err != nil {
		return searchOutput{}, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, searchTime, errEnough)
	defer cancel()
	err = s.begin(limited)
	switch {
	case ctx.Err() != nil:
		return searchOutput{}, context.Cause(ctx)
	case limited.Err() != nil:
		s.out.Note = fmt.Sprintf("The search took longer than %v and was ended; search a smaller folder.", searchTime)
	case errors.Is(err, errEnough) && s.visited > maxVisited:
		s.out.Note = fmt.Sprintf("The search ended after %d files and folders; search a smaller folder.", maxVisited)
	case errors.Is(err, errEnough):
		s.out.Note = fmt.Sprintf("There are more than %d matches; narrow the search.", s.limit)
	case err != nil:
		return searchOutput{}, err
	case s.skipped > 0:
		s.out.Note = fmt.Sprintf("%d files are larger than %d bytes and were not searched.", s.skipped, maxSearchSize)
	}
	return s.out, nil
}

func compileText(in searchInput) (*regexp.Regexp, error) {
	if in.Text == "" {
		return nil, nil
	}
	expression := in.Text
	if !in.Regexp {
		expression = regexp.QuoteMeta(expression)
	}
	if in.IgnoreCase {
		expression = "(?i)" + expression
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	return re, nil
}

// begin searches the top. It is a folder or, if the search is for text, possibly a file.
func (s *searching) begin(ctx context.Context) error {
	if info, err := s.top.root.fs.Stat(s.top.rel); err == nil && info.Mode().IsRegular() && s.text != nil {
		return s.file(ctx, s.top)
	}
	return s.folder(ctx, s.top)
}

// folder searches a folder and its subfolders. It follows no links, so it cannot enter a cycle. It
// skips unreadable folders except the top.
func (s *searching) folder(ctx context.Context, p place) error {
	entries, _, err := p.entries(ctx)
	if err != nil {
		if p == s.top || ctx.Err() != nil {
			return err
		}
		return nil
	}
	for _, e := range entries {
		if s.visited++; s.visited > maxVisited {
			return errEnough
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.entry(ctx, p.join(e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

func (s *searching) entry(ctx context.Context, p place, e fs.DirEntry) error {
	var err error
	if below := strings.TrimPrefix(strings.TrimPrefix(p.String(), s.top.String()), "/"); s.name(below) {
		switch {
		case s.text == nil:
			err = s.found(match{Path: validName(p.String())})
		case e.Type().IsRegular():
			err = s.file(ctx, p)
		}
	}
	if err != nil {
		return err
	}
	if e.IsDir() && e.Name() != ".git" {
		return s.folder(ctx, p)
	}
	return nil
}

func (s *searching) found(m match) error {
	if len(s.out.Matches) >= s.limit {
		return errEnough
	}
	s.out.Matches = append(s.out.Matches, m)
	return nil
}

// file searches a file for the text. It skips files that are too large or not text.
func (s *searching) file(ctx context.Context, p place) error {
	file, info, err := p.open()
	if err != nil {
		return nil // unreadable, or removed meanwhile
	}
	defer file.Close()
	if info.Size() > maxSearchSize {
		s.skipped++
		return nil
	}
	if text, err := looksLikeText(file); err != nil || !text {
		return nil
	}
	lines := bufio.NewScanner(io.LimitReader(file, maxSearchSize))
	lines.Buffer(make([]byte, 0, 64<<10), maxMatchLine)
	for n := 1; lines.Scan(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at := s.text.FindIndex(lines.Bytes())
		if at == nil {
			continue
		}
		if err := s.found(match{Path: validName(p.String()), Line: n, Text: excerpt(lines.Bytes(), at[0])}); err != nil {
			return err
		}
	}
	return nil // files with lines of this length were generated and are not worth searching
}

// excerpt returns the part of a line around the match.
func excerpt(line []byte, at int) string {
	line = bytes.TrimRight(line, "\r")
	if len(line) <= maxShownLine {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	from := max(0, min(at-maxShownLine/3, len(line)-maxShownLine))
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	part := string(wholeRunes(line[from : from+maxShownLine]))
	if from > 0 {
		part = "…" + part
	}
	if from+maxShownLine < len(line) {
		part += "…"
	}
	return strings.ToValidUTF8(part, "\uFFFD")
}
