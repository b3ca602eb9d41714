package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

func skillTree(paths ...string) fstest.MapFS {
	tree := fstest.MapFS{}
	for _, path := range paths {
		name := path[strings.LastIndexByte(path, '/')+1:]
		tree[path+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: d\n---\n" + strings.Join(paths, " "))}
		tree[path+"/references/more.md"] = &fstest.MapFile{Data: []byte(strings.Join(paths, " "))}
	}
	return tree
}

// An unlisting server has skills that are not in its list, does not support folders, and has no
// resource template.
func unlisting(t *testing.T, listed, unlisted *skills.Skill) *mcp.Server {
	t.Helper()
	s := mcp.NewServer("unlisting", "1")
	s.Declare(skills.Extension, nil)
	entry := func(s *skills.Skill) string {
		encoded, err := s.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	s.HandleMethod(skills.MethodList, func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{JSON: json.RawMessage(`{"skills":[` + entry(listed) + `]}`)}, nil
	})
	s.HandleMethod(skills.MethodGet, func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		for _, s := range []*skills.Skill{listed, unlisted} {
			if strings.Contains(string(req.Params), `"`+s.URI+`"`) {
				return mcp.Result{JSON: json.RawMessage(`{"skill":` + entry(s) + `}`)}, nil
			}
		}
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "no such skill")
	})
	for _, s2 := range []*skills.Skill{listed, unlisted} {
		for _, f := range s2.Files {
			path := strings.TrimPrefix(f.URI, "skill://")
			s.AddText(mcp.Resource{URI: f.URI, Name: path}, string(skillTree(path[:strings.IndexByte(path, '/')])[path].Data))
		}
	}
	return s
}

func entries(t *testing.T, tree fstest.MapFS) []*skills.Skill {
	t.Helper()
	set, err := skills.Add(mcp.NewServer("-", "1"), tree)
	if err != nil {
		t.Fatal(err)
	}
	return set.Skills()
}

func TestSkillsOfAllServersAreListedAndEachIsReadWhereItIs(t *testing.T) {
	one, two := mcp.NewServer("one", "1"), mcp.NewServer("two", "1")
	if _, err := skills.Add(one, skillTree("git", "shared")); err != nil {
		t.Fatal(err)
	}
	if _, err := skills.Add(two, skillTree("shared", "team/review")); err != nil {
		t.Fatal(err)
	}
	three := unlisting(t, entries(t, skillTree("plain"))[0], entries(t, skillTree("secret"))[0])
	g := gateway.New(gateway.Options{})
	defer g.Close()
	for _, m := range []struct {
		name string
		h    mcp.Handler
	}{{"one", one}, {"two", two}, {"three", three}, {"four", mcp.NewServer("four", "1")}} {
		if err := g.AddHandler(m.name, m.h); err != nil {
			t.Fatal(err)
		}
	}
	c := mcp.NewClient(g)
	if !skills.Declared(c.Capabilities()) || !skills.ReadsDirectories(c.Capabilities()) {
		t.Errorf("capabilities: %+v", c.Capabilities())
	}
	all, faults, err := skills.List(t.Context(), c)
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	var got []string
	for _, s := range all {
		for _, f := range s.Files {
			if _, err := s.Read(t.Context(), c, f.URI); err != nil {
				t.Error(err)
			}
		}
		got = append(got, s.Root())
	}
	if want := []string{"skill://git", "skill://shared", "skill://team/review", "skill://plain"}; !slices.Equal(got, want) {
		t.Errorf("listed: %q", got)
	}
	if s := g.Status(); !strings.Contains(fmt.Sprint(s[1].Renamed), `skill "skill://shared/SKILL.md": server "one" has it, too, and gets its requests`) {
		t.Errorf("of what two servers have: %q", s[1].Renamed)
	}
	hidden, err := skills.Get(t.Context(), c, "skill://secret/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hidden.Read(t.Context(), c, hidden.URI); err != nil {
		t.Errorf("a skill that is in no list: %v", err)
	}
	for uri, want := range map[string]string{"skill://git": "SKILL.md references", "skill://team": "review", "skill://plain": "SKILL.md references", "skill://plain/references": "more.md"} {
		children, err := skills.ReadDirectory(t.Context(), c, uri)
		var names []string
		for _, r := range children {
			names = append(names, r.Name)
		}
		if strings.Join(names, " ") != want || err != nil {
			t.Errorf("%s: %q, %v", uri, names, err)
		}
	}
	for _, uri := range []string{"skill://nobody", "skill://git/SKILL.md", "skill://plain/SKILL.md", "file:///etc"} {
		if _, err := skills.ReadDirectory(t.Context(), c, uri); mcp.ErrorOf(err).Code != mcp.CodeInvalidParams {
			t.Errorf("%s: %v", uri, err)
		}
		if _, err := skills.Get(t.Context(), c, uri+"/SKILL.md"); mcp.ErrorOf(err).Code != mcp.CodeInvalidParams {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestAPartOfAGatewayHasTheSkillsOfItsServersOnly(t *testing.T) {
	one, two := mcp.NewServer("one", "1"), mcp.NewServer("two", "1")
	for s, path := range map[*mcp.Server]string{one: "git", two: "review"} {
		if _, err := skills.Add(s, skillTree(path)); err != nil {
			t.Fatal(err)
		}
	}
	g := gateway.Route(map[string]mcp.Handler{"one": one, "two": two})
	defer g.Close()
	c := mcp.NewClient(g.Only(gateway.Selection{Servers: []string{"two"}}))
	all, _, err := skills.List(t.Context(), c)
	if err != nil || len(all) != 1 || all[0].Name() != "review" {
		t.Fatalf("%+v, %v", all, err)
	}
	if _, err := all[0].Read(t.Context(), c, all[0].URI); err != nil {
		t.Error(err)
	}
	if _, err := skills.Get(t.Context(), c, "skill://git/SKILL.md"); mcp.ErrorOf(err).Code != mcp.CodeInvalidParams {
		t.Errorf("get: %v", err)
	}
	if _, err := c.ReadResource(t.Context(), "skill://git/SKILL.md"); mcp.ErrorOf(err).Code != mcp.CodeInvalidParams {
		t.Errorf("read: %v", err)
	}
	if _, err := skills.ReadDirectory(t.Context(), c, "skill://git"); mcp.ErrorOf(err).Code != mcp.CodeInvalidParams {
		t.Errorf("folder: %v", err)
	}
}

func TestAPartWithoutASkillDoesNotGiveIt(t *testing.T) {
	s := mcp.NewServer("one", "1")
	if _, err := skills.Add(s, skillTree("git", "secret")); err != nil {
		t.Fatal(err)
	}
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, g.AddHandler("one", s))
	must(t, g.Settle(t.Context()))
	part := g.Only(gateway.Selection{Keep: func(e gateway.Entry) bool { return !strings.HasPrefix(e.Name, "skill://secret") }})
	for method, params := range map[string]string{
		"resources/read": `{"uri":"skill://%s/SKILL.md"}`, skills.MethodGet: `{"uri":"skill://%s/SKILL.md"}`, skills.MethodDirectory: `{"uri":"skill://%s"}`,
	} {
		for name, has := range map[string]bool{"git": true, "secret": false} {
			if _, err := part.Handle(t.Context(), mcp.NewRequest(method, json.RawMessage(fmt.Sprintf(params, name)))); (err == nil) != has {
				t.Errorf("%s of %s is answered: %t (%v)", method, name, !has, err)
			}
		}
	}
	result, err := part.Handle(t.Context(), mcp.NewRequest(skills.MethodList, nil))
	must(t, err)
	if list, _ := result.Encoded(); !strings.Contains(string(list), "skill://git") || strings.Contains(string(list), "skill://secret") {
		t.Errorf("listed are %s", list)
	}
}
