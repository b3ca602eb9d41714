package up

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/lint"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/toolsearch"
)

const (
	maxQuestion     = 1 << 20 // largest body of POST /api/explain in bytes
	maxAuditLines   = 1_000   // largest number of lines of the audit log in a response
	usualAuditLines = 100     // default number of these lines
)

// serveInside adds routes that let a console show the gateway. They show its parts, the definitions
// and standard error of its servers, decisions of rules, and the audit log.
func (v *Served) serveInside(handle func(pattern string, h http.HandlerFunc)) {
	handle("GET /api/gateway", func(w http.ResponseWriter, _ *http.Request) { reply.JSON(w, http.StatusOK, v.inside()) })
	handle("GET /api/servers/{name}/log", func(w http.ResponseWriter, r *http.Request) {
		if e, is := v.named(w, r.PathValue("name")); is {
			reply.JSON(w, http.StatusOK, map[string][]string{"lines": v.App.StderrOf(e.Name).Lines()})
		}
	})
	handle("GET /api/servers/{name}/definitions", v.listDefinitions)
	handle("POST /api/explain", v.explainCall)
	handle("GET /api/audit", v.listAudit)
	handle("POST /api/audit/verify", v.verifyAudit)
}

// A ProfileShown is a profile in the form that a console shows.
type ProfileShown struct {
	Name     string   `json:"name"`
	Endpoint string   `json:"endpoint,omitempty"`
	Servers  []string `json:"servers"`
	Tools    string   `json:"tools"`
}

// An inside describes the parts of the gateway.
type inside struct {
	Profiles []ProfileShown `json:"profiles"`
	// Policy lists the files with rules. Shadow is set if rules log their decisions without
	// enforcing them.
	Policy []string `json:"policy"`
	Shadow bool     `json:"shadow"`
	Review string   `json:"review"`
	// Audit is the folder of the audit log; "" without one.
	Audit string `json:"audit"`
	// Tokens is the size of the list of all tools, and Listed the size of the list that clients
	// get, both in tokens.
	Tokens int `json:"tokens"`
	Listed int `json:"listedTokens"`
}

func (v *Served) inside() inside {
	now := v.Gateway.Layers().Plan()
	i := inside{Profiles: []ProfileShown{}, Policy: []string{}, Shadow: now.Settings.Shadow, Review: now.Settings.Review, Audit: v.Gateway.Layers().Folder}
	for _, name := range slices.Sorted(maps.Keys(now.Settings.Profiles)) {
		p := now.Settings.Profiles[name]
		one := ProfileShown{Name: name, Servers: p.Servers, Tools: cmp.Or(p.Tools, now.Settings.Tools)}
		if at := v.endpoint(); at != "" {
			one.Endpoint = at + "/" + name
		}
		i.Profiles = append(i.Profiles, one)
	}
	if book := now.Books[""]; book != nil {
		i.Policy = book.Paths()
	}
	i.Tokens = toolsearch.Tokens(string(v.Gateway.Members().ToolList()))
	i.Listed = i.Tokens
	if v.shown().Searched {
		i.Listed = 0 // each client gets its own list, whose size is limited by the search
	}
	return i
}

// A shownDefinition is a tool, prompt, resource or template of a server in the form that a console
// shows.
type shownDefinition struct {
	// Name is the name that clients use. It is empty for a definition that is hidden from clients.
	Name   string `json:"name"`
	Own    string `json:"own"`
	Tokens int    `json:"tokens"`
	// State is "same", "new" or "changed", compared with the approved definition. It is empty
	// without review.
	State    string   `json:"state,omitempty"`
	Findings []string `json:"findings,omitempty"`
	// Faults lists reasons why models or hosts cannot use it, each with its remedy.
	Faults     []string        `json:"faults,omitempty"`
	Definition json.RawMessage `json:"definition"`
}

// listDefinitions responds with the known definitions of a server.
func (v *Served) listDefinitions(w http.ResponseWriter, r *http.Request) {
	server := r.PathValue("name")
	if _, is := v.named(w, server); !is {
		return
	}
	known, tools, prompts := v.Gateway.Members().Definitions(server)
	answer := struct {
		Known        bool              `json:"known"`
		Server       json.RawMessage   `json:"server,omitempty"`
		Revision     string            `json:"revision,omitempty"`
		Instructions string            `json:"instructions,omitempty"`
		Tools        []shownDefinition `json:"tools"`
		Prompts      []shownDefinition `json:"prompts"`
		Resources    []shownDefinition `json:"resources"`
		Templates    []shownDefinition `json:"templates"`
	}{Tools: []shownDefinition{}, Prompts: []shownDefinition{}, Resources: []shownDefinition{}, Templates: []shownDefinition{}}
	if known == nil {
		reply.JSON(w, http.StatusOK, answer)
		return
	}
	answer.Known, answer.Server, answer.Revision, answer.Instructions = true, known.Server, known.Revision, known.Instructions
	exposed := map[string]string{} // the gateway's names, by kind and the server's own name
	for name, own := range tools {
		exposed["tool "+own] = name
	}
	for name, own := range prompts {
		exposed["prompt "+own] = name
	}
	judged := v.judged(server, known.Tools, known.Prompts)
	show := func(kind, key string, raw []json.RawMessage) (all []shownDefinition) {
		all = []shownDefinition{}
		for _, one := range raw {
			own, _ := jsonrpc.Unquote(jsonrpc.Get(one, key))
			d := judged[kind+" "+own]
			d.Name, d.Own, d.Tokens, d.Definition = exposed[kind+" "+own], own, toolsearch.Tokens(string(one)), one
			all = append(all, d)
		}
		return all
	}
	answer.Tools, answer.Prompts = show("tool", "name", known.Tools), show("prompt", "name", known.Prompts)
	answer.Resources, answer.Templates = show("resource", "uri", known.Resources), show("template", "uriTemplate", known.Templates)
	reply.JSON(w, http.StatusOK, answer)
}

// judged compares tools and prompts with the approved ones. It returns their states and the
// findings of guard and lint, by kind and name.
func (v *Served) judged(server string, tools, prompts []json.RawMessage) map[string]shownDefinition {
	approved := v.Gateway.Layers().Pins.Load()
	catalogue := new(guard.Catalogue)
	for _, e := range v.serverEntries() {
		known, _, _ := v.Gateway.Members().Definitions(e.Name)
		if known != nil {
			catalogue.Set(e.Name, reach.DefinitionNames(known.Tools)...)
		}
	}
	all := map[string]shownDefinition{}
	for _, d := range review.Definitions(server, tools, prompts) {
		var one shownDefinition
		if approved != nil {
			one.State = approved.Check(d).State.String()
		}
		one.Findings = policies.Findings(catalogue, d)
		all[string(d.Kind)+" "+d.Name] = one
	}
	for _, f := range lint.Check(&lint.Seen{Name: server, Tools: tools, Prompts: prompts}) {
		key := string(f.Kind) + " " + f.Name
		if one, is := all[key]; is && f.Severity == lint.Error {
			one.Faults = append(one.Faults, fmt.Sprintf("%s: %s. To fix it: %s", f.Field, f.What, f.Remedy))
			all[key] = one
		}
	}
	return all
}

// named returns the server with the given name. If there is none, it responds with 404 and returns
// false.
func (v *Served) named(w http.ResponseWriter, server string) (e launch.Entry, is bool) {
	entries := v.serverEntries()
	i := slices.IndexFunc(entries, func(e launch.Entry) bool { return e.Name == server })
	if i < 0 {
		reply.Error(w, http.StatusNotFound, errors.New("there is no server of this name"))
		return e, false
	}
	return entries[i], true
}

// serverEntries returns a copy of the current servers.
func (v *Served) serverEntries() []launch.Entry {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.Entries)
}

// explainCall responds with the decision of the rules about a call. It uses the known definition of
// the called tool.
func (v *Served) explainCall(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Server    string           `json:"server"`
		Tool      string           `json:"tool"` // the server's own name of the tool
		Arguments json.RawMessage  `json:"arguments"`
		Profile   string           `json:"profile"`
		Client    string           `json:"client"`
		Principal policy.Principal `json:"principal"`
		Labels    []string         `json:"labels"`
		Sources   []string         `json:"sources"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxQuestion)).Decode(&asked); err != nil {
		reply.Error(w, http.StatusBadRequest, fmt.Errorf("expected a call, as an object: %w", err))
		return
	}
	now := v.Gateway.Layers().Plan()
	book := now.Books[asked.Profile]
	if book == nil {
		reply.Error(w, http.StatusNotFound, errors.New("there are no rules here: set them with junction up --policy FILE, or policy in the settings"))
		return
	}
	e, is := v.named(w, asked.Server)
	if !is {
		return
	}
	in := policy.Input{Server: e.Name, Tool: asked.Tool, Arguments: asked.Arguments, Profile: asked.Profile, Client: asked.Client,
		Principal: asked.Principal, Labels: asked.Labels, Sources: asked.Sources,
		Origin: policy.OriginOf(e.Command()), Trusted: policy.Vouches(book.Trusted, e.Name, e.Command(), !e.OfProject())}
	if len(in.Arguments) == 0 {
		in.Arguments = json.RawMessage("{}")
	}
	if known, _, _ := v.Gateway.Members().Definitions(e.Name); known != nil {
		for _, raw := range known.Tools {
			if name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name")); name == asked.Tool {
				in.Annotations = rules.Annotations(raw)
				in.Title, _ = jsonrpc.Unquote(jsonrpc.Get(raw, "title"))
			}
		}
	}
	reply.JSON(w, http.StatusOK, policies.NewExplanation(book, in, book.Explain(r.Context(), in), book.Hides(in.Server, in.Tool, in.Annotations)))
}

// listAudit responds with the last lines of the audit log that match the query.
func (v *Served) listAudit(w http.ResponseWriter, r *http.Request) {
	if v.Gateway.Layers().Log == nil {
		reply.Error(w, http.StatusNotFound, errors.New("there is no log: to write one, run junction up --audit"))
		return
	}
	q := r.URL.Query()
	var f audit.Filter
	err := policies.FilterError(policies.AuditFilters.Query(&f, q))
	most := usualAuditLines
	if text := q.Get("limit"); text != "" && err == nil {
		if most, err = strconv.Atoi(text); err == nil && (most < 1 || most > maxAuditLines) {
			err = errors.New("limit: expected 1 to " + strconv.Itoa(maxAuditLines))
		}
	}
	if err != nil {
		reply.Error(w, http.StatusBadRequest, err)
		return
	}
	var last []json.RawMessage
	all := 0
	for line, err := range audit.Read(v.Gateway.Layers().Folder, f) {
		if r.Context().Err() != nil {
			return
		}
		if err != nil {
			reply.Error(w, http.StatusInternalServerError, err)
			return
		}
		last = append(last, line)
		last = last[max(0, len(last)-most):]
		all++
	}
	reply.JSON(w, http.StatusOK, struct {
		Folder string            `json:"folder"`
		Count  int               `json:"count"` // number of all matching lines
		Lines  []json.RawMessage `json:"lines"`
	}{v.Gateway.Layers().Folder, all, append([]json.RawMessage{}, last...)})
}

// verifyAudit responds with the result of verifying the audit log.
func (v *Served) verifyAudit(w http.ResponseWriter, r *http.Request) {
	if v.Gateway.Layers().Log == nil {
		reply.Error(w, http.StatusNotFound, errors.New("there is no log: to write one, run junction up --audit"))
		return
	}
	known, _ := policies.Witnesses(r.Context(), v.App) // none while the store is away
	report, err := policies.VerifyAudit(v.App.Place, v.Gateway.Layers().Folder, "", known)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		reply.Error(w, http.StatusNotFound, fmt.Errorf("the log no longer exists: %w", err))
	case err != nil:
		reply.Error(w, http.StatusInternalServerError, err)
	default:
		reply.JSON(w, http.StatusOK, report)
	}
}
