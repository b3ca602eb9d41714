package skills_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

const workflow = "---\nname: git-workflow\ndescription: How this team branches and commits.\nlicense: MIT\nmetadata:\n  version: 1.0\n  since: 2026-01-02\n  tags: [a, yes, null]\n---\n\n# Git\n\nSee [the guide](references/guide.md).\n"

func tree() fstest.MapFS {
	return fstest.MapFS{
		"git-workflow/SKILL.md":            {Data: []byte(workflow)},
		"git-workflow/references/guide.md": {Data: []byte("Rebase.\r\n")},
		"git-workflow/logo.png":            {Data: []byte("\x89PNG\xff")},
		"git-workflow/empty.txt":           {},
		"git-workflow/.git/config":         {Data: []byte("secret")},
		"acme/billing/refunds/SKILL.md":    {Data: []byte("---\nname: refunds\ndescription: |\n  Pays back.\n---\n")},
		"acme/billing/refunds/a b.md":      {Data: []byte("-")},
		"README.md":                        {Data: []byte("of no skill")},
	}
}

// serve returns a client of a server with the skills of a tree.
func serve(t *testing.T, files fstest.MapFS) (*mcp.Client, *skills.Set) {
	t.Helper()
	s := mcp.NewServer("test", "1")
	set, err := skills.Add(s, files)
	if err != nil {
		t.Fatal(err)
	}
	return mcp.NewClient(s), set
}

func TestSkillsAreListedWithTheirFrontmatterAndFilesAndReadWhenNeeded(t *testing.T) {
	c, set := serve(t, tree())
	if !skills.Declared(c.Capabilities()) || !skills.ReadsDirectories(c.Capabilities()) || c.Capabilities().Resources == nil {
		t.Errorf("capabilities: %+v", c.Capabilities())
	}
	all, faults, err := skills.List(t.Context(), c)
	if err != nil || len(faults) > 0 || len(all) != 2 {
		t.Fatalf("%d skills, %v, %v", len(all), faults, err)
	}
	refunds, git := all[0], all[1]
	if refunds.URI != "skill://acme/billing/refunds/SKILL.md" || refunds.Name() != "refunds" || refunds.Description() != "Pays back.\n" {
		t.Errorf("%+v", refunds)
	}
	want := `{"name":"git-workflow","description":"How this team branches and commits.","license":"MIT","metadata":{"version":1,"since":"2026-01-02","tags":["a","yes",null]}}`
	if string(git.Frontmatter) != want {
		t.Errorf("frontmatter %s", git.Frontmatter)
	}
	var uris []string
	for _, f := range git.Files {
		uris = append(uris, strings.TrimPrefix(f.URI, git.Root()))
		contents, err := git.Read(t.Context(), c, f.URI)
		if err != nil {
			t.Errorf("%s: %v", f.URI, err)
			continue
		}
		if want := tree()[strings.TrimPrefix(f.URI, "skill://")].Data; string(contents.Blob)+contents.Text != string(want) || int64(len(want)) != f.Size {
			t.Errorf("%s: %+v", f.URI, contents)
		}
	}
	slices.Sort(uris)
	if got := strings.Join(uris, " "); got != "/SKILL.md /empty.txt /logo.png /references/guide.md" {
		t.Errorf("files: %s", got)
	}
	if _, err := refunds.Read(t.Context(), c, refunds.Root()+"/a%20b.md"); err != nil {
		t.Error(err)
	}
	if got, err := skills.Get(t.Context(), c, git.URI); err != nil || string(got.Frontmatter) != want || len(got.Files) != 4 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := skills.Get(t.Context(), c, "skill://other/SKILL.md"); mcp.ErrorOf(err).Code != mcp.CodeInvalidParams {
		t.Errorf("of another: %v", err)
	}
	if len(set.Skills()) != 2 {
		t.Errorf("%d skills", len(set.Skills()))
	}
}

func TestOnlySKILLmdIsListedAsAResource(t *testing.T) {
	c, _ := serve(t, tree())
	var listed []string
	for r, err := range c.Resources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, fmt.Sprintf("%s %s %q %s", r.URI, r.Name, r.Description, r.MIMEType))
	}
	want := []string{
		`skill://acme/billing/refunds/SKILL.md refunds "Pays back.\n" text/markdown`,
		`skill://git-workflow/SKILL.md git-workflow "How this team branches and commits." text/markdown`,
	}
	if !slices.Equal(listed, want) {
		t.Errorf("%q", listed)
	}
	for _, uri := range []string{"skill://git-workflow/.git/config", "skill://README.md", "skill://git-workflow", "skill://git-workflow/../README.md"} {
		if _, err := c.ReadResource(t.Context(), uri); mcp.ErrorOf(err).Code != mcp.CodeInvalidParams {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestDirectoriesAreListedOneLevelAtATime(t *testing.T) {
	c, _ := serve(t, tree())
	for uri, want := range map[string]string{
		"skill://git-workflow":            "SKILL.md:text/markdown empty.txt: logo.png:image/png references:inode/directory",
		"skill://git-workflow/references": "guide.md:text/markdown",
		"skill://acme":                    "billing:inode/directory",
		"skill://acme/billing/refunds":    "SKILL.md:text/markdown a b.md:text/markdown",
	} {
		children, err := skills.ReadDirectory(t.Context(), c, uri)
		var got []string
		for _, r := range children {
			got = append(got, r.Name+":"+r.MIMEType)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", uri, got, err)
		}
	}
	for _, uri := range []string{"skill://git-workflow/SKILL.md", "skill://git-workflow/", "skill://nothing", ""} {
		if _, err := skills.ReadDirectory(t.Context(), c, uri); mcp.ErrorOf(err).Code != mcp.CodeInvalidParams {
			t.Errorf("%q: %v", uri, err)
		}
	}
}

func TestAFolderWithinASkillMayBeASkillAndIsPartOfBoth(t *testing.T) {
	c, _ := serve(t, fstest.MapFS{
		"outer/SKILL.md":       {Data: []byte("---\nname: outer\ndescription: d\n---\n")},
		"outer/inner/SKILL.md": {Data: []byte("---\nname: inner\ndescription: d\n---\n")},
	})
	all, faults, err := skills.List(t.Context(), c)
	if err != nil || len(faults) > 0 || len(all) != 2 || len(all[0].Files)+len(all[1].Files) != 3 {
		t.Errorf("%+v, %v, %v", all, faults, err)
	}
}

func TestReloadServesTheCurrentTree(t *testing.T) {
	files := tree()
	c, set := serve(t, files)
	before, err := skills.Get(t.Context(), c, "skill://git-workflow/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	files["git-workflow/references/guide.md"] = &fstest.MapFile{Data: []byte("Merge.\r\n")}
	delete(files, "acme/billing/refunds/SKILL.md")
	if err := set.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, err := before.Read(t.Context(), c, "skill://git-workflow/references/guide.md"); !errors.Is(err, skills.ErrMismatch) {
		t.Errorf("what the entry does not describe any more: %v", err)
	}
	all, _, err := skills.List(t.Context(), c)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d skills, %v", len(all), err)
	}
	if contents, err := all[0].Read(t.Context(), c, "skill://git-workflow/references/guide.md"); err != nil || contents.Text != "Merge.\r\n" {
		t.Errorf("%+v, %v", contents, err)
	}
	files["git-workflow/SKILL.md"] = &fstest.MapFile{Data: []byte("no frontmatter")}
	if err := set.Reload(); err == nil || !strings.Contains(err.Error(), `skill "git-workflow": the frontmatter: the file does not begin with the line "---"`) {
		t.Errorf("the error is %v", err)
	}
	if _, err := all[0].Read(t.Context(), c, all[0].URI); err != nil {
		t.Errorf("after a reload that failed: %v", err)
	}
}

func TestATreeThatIsNotValidIsRefused(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	many := fstest.MapFS{"a/SKILL.md": file("---\nname: a\ndescription: d\n---\n")}
	for i := range 512 {
		many[fmt.Sprintf("a/%d.md", i)] = file("-")
	}
	for _, test := range []struct {
		what  string
		files fstest.MapFS
		want  string
	}{
		{"another name", fstest.MapFS{"a/SKILL.md": file("---\nname: b\ndescription: d\n---\n")}, `the name "b" is not that of its folder, "a"`},
		{"a name that may not be", fstest.MapFS{"A_b/SKILL.md": file("---\nname: A_b\ndescription: d\n---\n")}, `expected at most 64 small letters`},
		{"no description", fstest.MapFS{"a/SKILL.md": file("---\nname: a\n---\n")}, "name or description is missing"},
		{"no folder", fstest.MapFS{"SKILL.md": file("---\nname: a\ndescription: d\n---\n")}, "at the top of the tree"},
		{"no end", fstest.MapFS{"a/SKILL.md": file("---\nname: a\ndescription: d\n")}, "no line --- ends it"},
		{"a name twice", fstest.MapFS{"a/SKILL.md": file("---\nname: a\ndescription: d\nname: b\n---\n")}, "occurs once"},
		{"an alias", fstest.MapFS{"a/SKILL.md": file("---\nname: a\ndescription: d\nx: &x [1]\ny: [*x, *x]\n---\n")}, "aliases are not supported"},
		{"too deep", fstest.MapFS{"a/SKILL.md": file("---\nname: a\ndescription: d\nx: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\n---\n")}, "nested deeper than 32"},
		{"no number of JSON", fstest.MapFS{"a/SKILL.md": file("---\nname: a\ndescription: d\nx: .inf\n---\n")}, "JSON has no number"},
		{"too many files", many, "it has 513 files; at most 512"},
		{"too large", fstest.MapFS{"a/SKILL.md": file("---\nname: a\ndescription: d\n---\n"), "a/x": {Data: make([]byte, 16<<20+1)}}, "one skill may have 16 MiB"},
		{"too large with others", fstest.MapFS{"a/SKILL.md": file("---\nname: a\ndescription: d\n---\n"), "a/x": {Data: make([]byte, 16<<20)}}, "all files of a skill may have 16 MiB"},
	} {
		if _, err := skills.Add(mcp.NewServer("test", "1"), test.files); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.what, err)
		}
	}
}

// lying returns a server whose one skill has the entry and contents of the test.
func lying(t *testing.T, entry string, contents map[string]string) *mcp.Client {
	t.Helper()
	s := mcp.NewServerWith("lying", "1", mcp.ServerOptions{})
	s.Declare(skills.Extension, nil)
	s.HandleMethod(skills.MethodList, func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{JSON: json.RawMessage(`{"skills":[` + entry + `]}`)}, nil
	})
	s.HandleMethod(skills.MethodGet, func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{JSON: json.RawMessage(`{"skill":` + entry + `}`)}, nil
	})
	for uri, text := range contents {
		s.AddText(mcp.Resource{URI: uri, Name: "-"}, text)
	}
	return mcp.NewClient(s)
}

const (
	uri     = "skill://a/SKILL.md"
	text    = "---\nname: a\ndescription: d\n---\nBody.\n"
	digest  = "sha256:5c68e1b9ac98eb5b80a1c5a6e8e4eee0a2d7a7b24d8a3bf2a4b3e3a1b6c0ee00" // matches none of the files here
	honest  = `{"uri":"skill://a/SKILL.md","frontmatter":{"name":"a","description":"d"},"resources":"dynamic"}`
	oneFile = `{"uri":"skill://a/SKILL.md","frontmatter":{"name":"a","description":"d"},"resources":[{"uri":"skill://a/SKILL.md","digest":"` + digest + `","size":37}]}`
)

func TestFilesThatDifferFromTheirEntryAreNotRead(t *testing.T) {
	real, _ := serve(t, fstest.MapFS{"a/SKILL.md": {Data: []byte(text)}})
	all, _, err := skills.List(t.Context(), real)
	if err != nil {
		t.Fatal(err)
	}
	good := string(must(json.Marshal(all[0])))
	for _, test := range []struct {
		what, entry, text, read, want string
	}{
		{"as it is", good, text, uri, ""},
		{"other text of the same size", good, strings.Replace(text, "Body", "Evil", 1), uri, "its digest differs"},
		{"more text", good, text + "more", uri, "expected 37 bytes, got 41"},
		{"a file that is not listed", good, text, "skill://a/other.md", "not among the skill's 1 files"},
		{"a file of somebody else", good, text, "skill://b/SKILL.md", "not among the skill's 1 files"},
		{"another description", strings.Replace(good, `"d"`, `"e"`, 1), text, uri, "its frontmatter differs"},
		{"one field more", strings.Replace(good, `"d"`, `"d","allowed-tools":"Bash"`, 1), text, uri, "its frontmatter differs"},
		{"dynamic", honest, text, uri, ""},
		{"dynamic with another description", strings.Replace(honest, `"d"`, `"e"`, 1), text, uri, "its frontmatter differs"},
		{"dynamic and no frontmatter", honest, "Body.", uri, `does not begin with the line "---"`},
	} {
		c := lying(t, test.entry, map[string]string{uri: test.text, "skill://a/other.md": "x", "skill://b/SKILL.md": "x"})
		s, err := skills.Get(t.Context(), c, uri)
		if err != nil {
			t.Errorf("%s: %v", test.what, err)
			continue
		}
		contents, err := s.Read(t.Context(), c, test.read)
		switch {
		case test.want == "" && (err != nil || contents.Text != test.text):
			t.Errorf("%s: %+v, %v", test.what, contents, err)
		case test.want != "" && (!errors.Is(err, skills.ErrMismatch) || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v", test.what, err)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestAnEntryThatIsNotValidIsLeftOutAndSaid(t *testing.T) {
	replaced := func(from, to string) string { return strings.Replace(oneFile, from, to, 1) }
	for want, entry := range map[string]string{
		"resources: expected a list of files":        `{"uri":"skill://a/SKILL.md","frontmatter":{"name":"a","description":"d"}}`,
		`or "dynamic", got "\"other\""`:              `{"uri":"skill://a/SKILL.md","frontmatter":{"name":"a","description":"d"},"resources":"other"}`,
		"uri: expected that of a SKILL.md":           replaced(`"skill://a/SKILL.md","f`, `"skill://a","f`),
		`a part of it is empty, "." or ".."`:         strings.ReplaceAll(oneFile, "skill://a/", "skill://../a/"),
		`the name "b" is not that of its folder`:     replaced(`"name":"a"`, `"name":"b"`),
		"name or description is missing or not text": replaced(`"name":"a"`, `"name":1`),
		`is not in the skill's folder`:               replaced(`[{"uri":"skill://a/`, `[{"uri":"skill://b/`),
		`"skill://a/../b/x" is not in`:               replaced(`[{"uri":"skill://a/SKILL.md"`, `[{"uri":"skill://a/../b/x"`),
		"the digest of":                              replaced("sha256:5", "sha256:g"),
		"the size of":                                replaced(`"size":37`, `"size":-1`),
		"all files of a skill may have 16 MiB":       replaced(`"size":37`, `"size":16777217`),
		"the SKILL.md itself is not listed":          replaced(`[{"uri":"skill://a/SKILL.md"`, `[{"uri":"skill://a/other.md"`),
		"is listed twice":                            replaced(`}]}`, `},{"uri":"skill://a/SKILL.md","digest":"`+digest+`","size":1}]}`),
	} {
		all, faults, err := skills.List(t.Context(), lying(t, entry+","+honest, nil))
		if err != nil || len(all) != 1 || len(faults) != 1 || !strings.Contains(faults[0].Error(), want) {
			t.Errorf("%s: %d skills, %v, %v", want, len(all), faults, err)
		}
	}
}

func TestADateInAnEntryMayBeWrittenOut(t *testing.T) {
	text := "---\nname: a\ndescription: d\nsince: 2026-01-02\n---\n"
	for written, want := range map[string]bool{"2026-01-02": true, "2026-01-02T00:00:00.000Z": true, "2026-01-03T00:00:00.000Z": false} {
		entry := strings.Replace(honest, `"d"`, `"d","since":"`+written+`"`, 1)
		c := lying(t, entry, map[string]string{uri: text})
		s, err := skills.Get(t.Context(), c, uri)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(t.Context(), c, uri); (err == nil) != want {
			t.Errorf("%s: %v", written, err)
		}
	}
}

func TestAListIsCacheableAndAnUpdateOfAFileMakesItOld(t *testing.T) {
	files := tree()
	s := mcp.NewServer("test", "1")
	set := must(skills.Add(s, files))
	h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		result, err := s.Handle(ctx, req)
		if strings.HasPrefix(req.Method, "skills/") {
			result.TTL = 1 << 40
		}
		return result, err
	})
	c := mcp.NewClient(h)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard, agreed := make(chan struct{}, 10), make(chan struct{})
	go c.ListenWith(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"skill://git-workflow/references/guide.md"}},
		func(mcp.Notification) { heard <- struct{}{} }, func(mcp.SubscriptionFilter) { close(agreed) })
	<-agreed
	before, _, err := skills.List(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	files["git-workflow/references/guide.md"] = &fstest.MapFile{Data: []byte("Merge.\r\n")}
	if err := set.Reload(); err != nil {
		t.Fatal(err)
	}
	<-heard
	after, _, err := skills.List(t.Context(), c)
	if err != nil || slices.Equal(before[1].Files, after[1].Files) {
		t.Errorf("the list is that of before: %v", err)
	}
}
