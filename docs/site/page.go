package main

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

// A page is one file of Markdown.
type page struct {
	Language *language
	Path     string // in the site
	Title    string
	Body     template.HTML
	Headings []heading

	source   string // path in the repository
	alike    string // the same for this page in all languages; empty if it exists in one
	lastList []item // of the Markdown
	markdown []byte
	tree     ast.Node
	sections []section
}

// A heading is a part of the contents of a page.
type heading struct{ ID, Text string }

// A section is a unit of the search: the text below one heading. Its members have short names, as
// each occurs a thousand times in the index.
type section struct {
	Page    string `json:"p"`
	Heading string `json:"h"`
	Address string `json:"a"`
	Text    string `json:"t"`
}

// parse reads a page. Its links are those of the Markdown until resolve changes them.
func parse(source string, content []byte, l *language) (*page, error) {
	p := &page{Language: l, Path: strings.TrimSuffix(source, ".md") + ".html", source: source, markdown: content}
	dir, name := path.Split(source)
	if name == "README.md" {
		p.Path = dir + "index.html"
	}
	switch {
	case source == l.home:
		p.alike = "/"
	case dir == l.folder+"/":
		p.alike = name
	}
	p.tree = markdown.Parser().Parse(text.NewReader(content))
	used := map[string]int{}
	for node := p.tree.FirstChild(); node != nil; node = node.NextSibling() {
		if h, ok := node.(*ast.Heading); ok {
			name := p.plain(h)
			id := anchor(name, used)
			h.SetAttributeString("id", []byte(id))
			if h.Level == 1 && p.Title == "" {
				p.Title = name
			}
			if h.Level == 2 {
				p.Headings = append(p.Headings, heading{id, name})
			}
			p.sections = append(p.sections, section{Heading: name, Address: p.Path + "#" + id})
			continue
		}
		if list, ok := node.(*ast.List); ok {
			p.lastList = p.items(list)
		}
		if len(p.sections) == 0 {
			p.sections = append(p.sections, section{Address: p.Path})
		}
		last := &p.sections[len(p.sections)-1]
		last.Text = strings.TrimSpace(last.Text + " " + strings.Join(strings.Fields(p.plain(node)), " "))
	}
	if p.Title == "" {
		return nil, fmt.Errorf("%s has no heading of level 1", source)
	}
	for i := range p.sections {
		p.sections[i].Page = p.Title
	}
	return p, nil
}

// plain returns the text of a node without markup.
func (p *page) plain(node ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // no error comes from below
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(p.markdown))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
			return ast.WalkContinue, nil
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
			return ast.WalkContinue, nil
		case *ast.AutoLink:
			if entering {
				b.Write(n.Label(p.markdown))
			}
			return ast.WalkContinue, nil
		}
		if n.Type() == ast.TypeInline {
			return ast.WalkContinue, nil
		}
		if entering && n.IsRaw() {
			b.Write(n.Lines().Value(p.markdown))
		}
		if !entering {
			b.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// anchor returns the name that GitHub gives to a heading. used counts the names of the page.
func anchor(heading string, used map[string]int) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
	n, found := used[name]
	for free := name; found; n++ {
		free = name + "-" + strconv.Itoa(n+1)
		if _, found = used[free]; !found {
			used[name], used[free] = n+1, 0
			return free
		}
	}
	used[name] = 0
	return name
}

// resolve makes the body of the page: links to pages lead to pages of the site, all others to the
// repository. Pictures are added to files.
func (p *page) resolve(repo fs.FS, pages map[string]*page, files map[string][]byte) error {
	var problems []error
	err := ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		var err error
		switch n := n.(type) {
		case *ast.Image:
			n.Destination, err = p.picture(string(n.Destination), repo, files)
		case *ast.Link:
			n.Destination, err = p.destination(string(n.Destination), repo, pages, files)
		case *ast.RawHTML:
			err = errors.New("HTML within a paragraph")
		case *ast.HTMLBlock:
			if !bytes.HasPrefix(bytes.TrimSpace(n.Lines().Value(p.markdown)), []byte("<!--")) {
				err = errors.New("HTML; only comments may be written in it")
			}
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", p.source, err))
		}
		return ast.WalkContinue, nil
	})
	var b bytes.Buffer
	if err := errors.Join(err, errors.Join(problems...), markdown.Renderer().Render(&b, p.markdown, p.tree)); err != nil {
		return err
	}
	p.Body = template.HTML(b.String()) // goldmark escaped it, and omits HTML
	return nil
}

func (p *page) picture(to string, repo fs.FS, files map[string][]byte) ([]byte, error) {
	name := path.Join(path.Dir(p.source), to)
	content, err := fs.ReadFile(repo, name)
	if err != nil {
		return nil, fmt.Errorf("picture %s: %w", to, err)
	}
	files[name] = content
	return []byte(between(p.Path, name)), nil
}

// destination returns the address of a link in the site.
func (p *page) destination(to string, repo fs.FS, pages map[string]*page, files map[string][]byte) ([]byte, error) {
	u, err := url.Parse(to)
	if err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	if u.IsAbs() || u.Path == "" {
		return []byte(to), nil
	}
	name := path.Join(path.Dir(p.source), u.Path)
	if target := pages[name]; target != nil {
		address := between(p.Path, target.Path)
		if u.Fragment != "" {
			address += "#" + u.Fragment
		}
		return []byte(address), nil
	}
	if ext := path.Ext(name); ext == ".svg" || ext == ".png" {
		return p.picture(to, repo, files)
	}
	info, err := fs.Stat(repo, name)
	if err != nil {
		return nil, fmt.Errorf("link %s: %w", to, err)
	}
	if info.IsDir() {
		return []byte(repository + "/tree/main/" + name), nil
	}
	return []byte(repository + "/blob/main/" + name), nil
}

// Source returns the address of the Markdown.
func (p *page) Source() string { return repository + "/blob/main/" + p.source }

// An item is a line of a menu: its first bold text, and the files that it links to.
type item struct {
	name    string
	sources []string
}

// items returns the items of a list.
func (p *page) items(list *ast.List) []item {
	var all []item
	for node := list.FirstChild(); node != nil; node = node.NextSibling() {
		var it item
		_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // no error comes from below
			switch n := n.(type) {
			case *ast.Emphasis:
				if entering && it.name == "" {
					it.name = strings.TrimRight(p.plain(n), ":：")
				}
			case *ast.Link:
				if entering {
					it.sources = append(it.sources, path.Join(path.Dir(p.source), string(n.Destination)))
				}
			}
			return ast.WalkContinue, nil
		})
		all = append(all, it)
	}
	return all
}
