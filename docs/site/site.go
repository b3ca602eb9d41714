package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// repository is the address of files that are not pages.
const repository = "https://github.com/junction-mcp/junction"

// A language is a set of pages with a menu and a search of their own.
type language struct {
	Code, Name string
	home       string // the README, whose last list is the menu
	folder     string // its pages, without those of folders below
	Words      words
}

// words are the texts of a page that are not from Markdown.
type words struct {
	Skip, Menu, Search, Found, Nothing, Contents, Source, More string
}

// languages lists all languages. One whose README does not exist has no pages.
var languages = []language{
	{"en", "English", "README.md", "docs", words{
		"Skip to the text", "Menu", "Search", "sections", "Nothing found", "On this page", "Markdown of this page", "More",
	}},
	{"zh-CN", "简体中文", "README.zh-CN.md", "docs/zh", words{
		"跳到正文", "菜单", "搜索", "个章节", "没有找到", "本页内容", "本页的 Markdown", "更多",
	}},
}

//go:embed assets
var assets embed.FS

var layout = template.Must(template.ParseFS(assets, "assets/page.html"))

// A view is all that the layout shows.
type view struct {
	*page
	Root  string // the way to the top folder, such as ../
	Menu  []group
	Other []link // the page in other languages
}

// A group is a part of the menu.
type group struct {
	Name  string
	Links []link
}

// A link leads to a page.
type link struct {
	Href, Text string
	Current    bool
}

// build returns the files of the site of a repository, by their paths.
func build(repo fs.FS) (map[string][]byte, error) {
	pages, err := find(repo)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	var problems []error
	for _, p := range pages {
		problems = append(problems, p.resolve(repo, pages, files))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	for i := range languages {
		if err := languages[i].write(pages, files); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"style.css", "search.js"} {
		content, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return nil, err
		}
		files["site/"+name] = content
	}
	return files, nil
}

// find reads all pages of the repository. The keys are the paths of their files.
func find(repo fs.FS) (map[string]*page, error) {
	pages := map[string]*page{}
	for i := range languages {
		l := &languages[i]
		if _, err := fs.Stat(repo, l.home); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		names, err := fs.Glob(repo, l.folder+"/*.md")
		if err != nil {
			return nil, err
		}
		if names = append(names, l.home); i == 0 {
			top, err := fs.Glob(repo, "*.md")
			if err != nil {
				return nil, err
			}
			names = append(names, top...)
		}
		for _, name := range names {
			if pages[name] != nil || name != l.home && isHome(name) {
				continue
			}
			text, err := fs.ReadFile(repo, name)
			if err != nil {
				return nil, err
			}
			if pages[name], err = parse(name, text, l); err != nil {
				return nil, err
			}
		}
	}
	return pages, nil
}

func isHome(name string) bool {
	return slices.ContainsFunc(languages, func(l language) bool { return l.home == name })
}

// write adds the pages of a language and the index of their search to files.
func (l *language) write(pages map[string]*page, files map[string][]byte) error {
	var own []*page
	for _, p := range pages {
		if p.Language == l {
			own = append(own, p)
		}
	}
	if len(own) == 0 {
		return nil
	}
	slices.SortFunc(own, func(a, b *page) int { return strings.Compare(a.source, b.source) })
	menu := l.menu(pages, own)
	var index []section
	for _, p := range own {
		v := view{page: p, Root: strings.Repeat("../", strings.Count(p.Path, "/")), Menu: menu(p), Other: p.inOther(pages)}
		var b bytes.Buffer
		if err := layout.Execute(&b, v); err != nil {
			return fmt.Errorf("%s: %w", p.source, err)
		}
		files[p.Path] = b.Bytes()
		index = append(index, p.sections...)
	}
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	// A script, as pages that were opened as files may not fetch JSON.
	files["site/index."+l.Code+".js"] = slices.Concat([]byte("window.junctionSections = "), text, []byte(";\n"))
	return nil
}

// menu returns a function that makes the menu for a page. Pages that the README does not name come
// last.
func (l *language) menu(pages map[string]*page, own []*page) func(at *page) []group {
	type entry struct {
		name  string
		pages []*page
	}
	named := map[*page]bool{pages[l.home]: true}
	var list []entry
	for _, g := range pages[l.home].lastList {
		e := entry{name: g.name}
		for _, source := range g.sources {
			if p := pages[source]; p != nil && !named[p] {
				named[p], e.pages = true, append(e.pages, p)
			}
		}
		list = append(list, e)
	}
	rest := entry{name: l.Words.More}
	for _, p := range own {
		if !named[p] {
			rest.pages = append(rest.pages, p)
		}
	}
	list = append([]entry{{pages: []*page{pages[l.home]}}}, append(list, rest)...)
	return func(at *page) []group {
		var menu []group
		for _, e := range list {
			g := group{Name: e.name}
			for _, p := range e.pages {
				g.Links = append(g.Links, link{between(at.Path, p.Path), p.Title, p == at})
			}
			if len(g.Links) > 0 {
				menu = append(menu, g)
			}
		}
		return menu
	}
}

// inOther returns links to the same page in other languages.
func (p *page) inOther(pages map[string]*page) []link {
	var all []link
	for i := range languages {
		for _, other := range pages {
			if l := &languages[i]; other.Language == l && l != p.Language && p.alike != "" && other.alike == p.alike {
				all = append(all, link{Href: between(p.Path, other.Path), Text: l.Name})
			}
		}
	}
	return all
}

// between returns the relative address of a file, seen from another one.
func between(from, to string) string {
	a, b := strings.Split(path.Dir(from), "/"), strings.Split(to, "/")
	if a[0] == "." {
		a = nil
	}
	for len(a) > 0 && len(b) > 1 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return strings.Repeat("../", len(a)) + strings.Join(b, "/")
}
