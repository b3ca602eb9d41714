package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

const refundSkill = "---\nname: refunds\ndescription: How refunds are made.\nallowed-tools: \"*\"\n---\nBODY of the skill.\n"

// A guide is a server with skills that counts what is read of it.
type guide struct {
	*mcp.Server
	set   *skills.Set
	files fstest.MapFS

	mu   sync.Mutex
	read []string
}

func newGuide(t *testing.T) *guide {
	t.Helper()
	s := &guide{Server: mcp.NewServer("shop", "1"), files: fstest.MapFS{
		"refunds/SKILL.md":       {Data: []byte(refundSkill)},
		"refunds/forms/SKILL.md": {Data: []byte("---\nname: forms\ndescription: How forms are filled in.\n---\nFORMS\n")},
		"refunds/more.md":        {Data: []byte("MORE of it.\n")},
	}}
	var err error
	if s.set, err = skills.Add(s.Server, s.files); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *guide) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Method == "resources/read" {
		s.mu.Lock()
		s.read = append(s.read, req.Name)
		s.mu.Unlock()
	}
	return s.Server.Handle(ctx, req)
}

func (s *guide) reads() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.read)
}

func readOf(uri string) scripted.Turn {
	return scripted.Call(readName, fmt.Sprintf(`{"server":"shop","uri":%q}`, uri))
}

// resultsOf are the texts of all results that the model has got.
func resultsOf(req *model.Request) []string {
	var texts []string
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				texts = append(texts, p.Result.Text())
			}
		}
	}
	return texts
}

func TestThePromptNamesSkillsAndTheModelReadsTheirTexts(t *testing.T) {
	srv := newGuide(t)
	s := play(t, Options{Servers: []Server{{Name: "shop", Handler: srv}}},
		readOf("skill://refunds/SKILL.md"), readOf("skill://refunds/more.md"), readOf("skill://refunds/other.md"), scripted.Say("done"))
	ask(t, s.Conversation(nil), "refund it")
	requests := s.model.Requests()
	system := requests[0].System
	if !strings.Contains(system, "\n- shop: skill://refunds/SKILL.md How refunds are made.\n") || strings.Contains(system, "BODY") {
		t.Errorf("the system prompt is %s", system)
	}
	for i := range requests {
		if requests[i].System != system {
			t.Errorf("request %d begins in another way", i)
		}
	}
	got := resultsOf(requests[3])
	if want := `Skill "refunds" of server "shop". What follows is that server's text.`; !strings.HasPrefix(got[0], want) || !strings.Contains(got[0], "below skill://refunds/: forms/SKILL.md, more.md\n") || !strings.Contains(got[0], "BODY of the skill.") {
		t.Errorf("the skill: %s", got[0])
	}
	if !strings.Contains(got[1], "MORE of it.") || !strings.Contains(got[2], "it is not among the skill's 3 files") {
		t.Errorf("its files: %q", got[1:])
	}
	if reads := srv.reads(); !slices.Equal(reads, []string{"skill://refunds/SKILL.md", "skill://refunds/more.md"}) {
		t.Errorf("read: %q", reads)
	}
	items := s.desk.reviews[0].Items
	i := slices.IndexFunc(items, func(i ReviewItem) bool { return i.Kind == string(guard.Skill) && i.Name == "skill://refunds/SKILL.md" })
	if i < 0 || !strings.Contains(items[i].Text, "How refunds are made.") || !strings.Contains(items[i].Text, "allowed-tools") || !strings.Contains(items[i].Text, "more.md 12 bytes sha256:") {
		t.Errorf("the review: %+v", items)
	}
}

func TestUnapprovedSkillsAreHidden(t *testing.T) {
	srv := newGuide(t)
	person := &desk{review: func(Review) bool { return false }}
	s := play(t, Options{Person: person, Servers: []Server{{Name: "shop", Handler: srv}}}, readOf("skill://refunds/SKILL.md"), scripted.Say("done"))
	ask(t, s.Conversation(nil), "refund it")
	if strings.Contains(s.last(t).System, "skill://") || len(srv.reads()) > 0 {
		t.Errorf("named %v, read %q", strings.Contains(s.last(t).System, "skill://"), srv.reads())
	}
}

// What was approved is what was listed. A server that changes a file, and says so nowhere, is found out.
func TestChangedFilesAreReadAfterApprovalOnly(t *testing.T) {
	srv := newGuide(t)
	s := play(t, Options{Servers: []Server{{Name: "shop", Handler: srv}}},
		readOf("skill://refunds/more.md"),
		scripted.Func(func(*model.Request) (*model.Response, error) {
			srv.files["refunds/more.md"] = &fstest.MapFile{Data: []byte("EVIL of it.\n")}
			if err := srv.set.Reload(); err != nil {
				return nil, err
			}
			return &model.Response{Message: model.Message{Parts: []model.Part{scripted.Calling(readName, `{"server":"shop","uri":"skill://refunds/more.md"}`)}}}, nil
		}),
		readOf("skill://refunds/more.md"), scripted.Say("done"))
	ask(t, s.Conversation(nil), "refund it")
	got := resultsOf(s.last(t))
	if !strings.Contains(got[0], "MORE") || strings.Contains(got[1], "EVIL") || !strings.Contains(got[1], "its digest differs") || !strings.Contains(got[2], "EVIL") {
		t.Errorf("the model got %q", got)
	}
	if len(s.desk.reviews) != 2 {
		t.Fatalf("%d reviews", len(s.desk.reviews))
	}
	changed := s.desk.reviews[1].Items
	if len(changed) != 1 || !changed[0].Changed || changed[0].Name != "skill://refunds/SKILL.md" || !strings.Contains(changed[0].Text, "more.md 12 bytes sha256:") {
		t.Errorf("the review: %+v", changed)
	}
}

func TestASkillThatIsInNoListIsApprovedBeforeItIsRead(t *testing.T) {
	srv := newGuide(t)
	hidden := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == skills.MethodList {
			return mcp.Result{JSON: json.RawMessage(`{"skills":[]}`)}, nil
		}
		return srv.Handle(ctx, req)
	})
	s := play(t, Options{Servers: []Server{{Name: "shop", Handler: hidden}}},
		readOf("skill://refunds/SKILL.md"), readOf("skill://refunds/SKILL.md"), readOf("skill://nothing/SKILL.md"), scripted.Say("done"))
	ask(t, s.Conversation(nil), "refund it, as skill://refunds/SKILL.md says")
	got := resultsOf(s.last(t))
	if !strings.Contains(got[0], "the user must approve it first") || !strings.Contains(got[1], "BODY") || !strings.Contains(got[2], "there is no skill at") {
		t.Errorf("the model got %q", got)
	}
	if len(s.desk.reviews) != 2 || s.desk.reviews[1].Items[0].Name != "skill://refunds/SKILL.md" {
		t.Errorf("reviews: %+v", s.desk.reviews)
	}
}

// One skill's approval is none of a skill within it.
func TestNestedSkillsAreApprovedSeparately(t *testing.T) {
	srv := newGuide(t)
	person := &desk{}
	s := play(t, Options{Person: person, Servers: []Server{{Name: "shop", Handler: srv}}},
		readOf("skill://refunds/forms/SKILL.md"), scripted.Say("done"))
	outer := srv.set.Skills()
	for _, skill := range outer {
		if skill.Name() == "refunds" {
			if err := s.pins.Approve(definitionOfSkill("shop", skill), guard.Definition{Kind: guard.Version, Server: "shop", Text: "shop 1"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	person.review = func(Review) bool { return false }
	ask(t, s.Conversation(nil), "fill in a form")
	if got := resultsOf(s.last(t)); !strings.Contains(got[0], "The skill skill://refunds/forms/SKILL.md of server \"shop\" is new or changed") || len(srv.reads()) > 0 {
		t.Errorf("the model got %q; read: %q", got, srv.reads())
	}
}

func TestDynamicResourcesAreOfTrustedServersOnly(t *testing.T) {
	for _, trusted := range []bool{true, false} {
		srv := mcp.NewServer("shop", "1")
		entry := `{"uri":"skill://daily/SKILL.md","frontmatter":{"name":"daily","description":"Of today."},"resources":"dynamic"}`
		srv.Declare(skills.Extension, nil)
		srv.HandleMethod(skills.MethodList, func(context.Context, *mcp.Request) (mcp.Result, error) {
			return mcp.Result{JSON: json.RawMessage(`{"skills":[` + entry + `]}`)}, nil
		})
		srv.HandleMethod(skills.MethodGet, func(context.Context, *mcp.Request) (mcp.Result, error) {
			return mcp.Result{JSON: json.RawMessage(`{"skill":` + entry + `}`)}, nil
		})
		srv.AddText(mcp.Resource{URI: "skill://daily/SKILL.md", Name: "daily"}, "---\nname: daily\ndescription: Of today.\n---\nTODAY\n")
		s := play(t, Options{Servers: []Server{{Name: "shop", Handler: srv, Trusted: trusted}}}, readOf("skill://daily/SKILL.md"), scripted.Say("done"))
		ask(t, s.Conversation(nil), "report")
		got := resultsOf(s.last(t))[0]
		if strings.Contains(got, "TODAY") != trusted || strings.Contains(s.last(t).System, "skill://daily") != trusted || !trusted && !strings.Contains(got, "only a trusted server may have one") {
			t.Errorf("trusted %v: the model got %q", trusted, got)
		}
	}
}

// A skill of one server must not lead to the reading of another without a yes that names both.
func TestReadingsAfterASkillOfAnotherServerNeedApproval(t *testing.T) {
	srv := newGuide(t)
	library := mcp.NewServer("library", "1")
	library.AddText(mcp.Resource{URI: "book://1", Name: "one"}, "A book.")
	book := scripted.Call(readName, `{"server":"library","uri":"book://1"}`)
	rules, err := policy.Compile([]policy.Rule{{Effect: policy.Allow, When: `method == "resources/read"`}}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := play(t, Options{Policy: rules, Servers: []Server{{Name: "shop", Handler: srv, Public: true}, {Name: "library", Handler: library, Public: true}}},
		book, readOf("skill://refunds/SKILL.md"), book, readOf("skill://refunds/more.md"), book, scripted.Say("done"))
	ask(t, s.Conversation(nil), "refund it")
	if len(s.desk.cards) != 2 {
		t.Fatalf("%d cards", len(s.desk.cards))
	}
	for _, card := range s.desk.cards {
		if why := strings.Join(card.Reasons, " "); card.Server != "library" || !strings.Contains(why, `skill skill://refunds/SKILL.md of server "shop"`) || !strings.Contains(why, `server "library"`) {
			t.Errorf("%s: %s", card.Server, why)
		}
	}
}

func TestThePromptHasAtMostSomeSkillsAndCutsNone(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 300 {
		files[fmt.Sprintf("skill-%03d/SKILL.md", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "---\nname: skill-%03d\ndescription: %s\n---\n", i, strings.Repeat("does things ", 80))}
	}
	srv := mcp.NewServer("many", "1")
	if _, err := skills.Add(srv, files); err != nil {
		t.Fatal(err)
	}
	s := play(t, Options{Servers: []Server{{Name: "many", Handler: srv, Trusted: true}}}, scripted.Say("done"))
	ask(t, s.Conversation(nil), "hello")
	_, text, found := strings.Cut(s.last(t).System, skillsInPrompt)
	if !found || len(text) > maxSkillsText+200 || !strings.Contains(text, "- many: skill://skill-000/SKILL.md does") || !strings.Contains(text, " more, which the user can name") {
		t.Errorf("%d bytes: %.300s … %s", len(text), text, text[max(0, len(text)-100):])
	}
}
