package archtest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/revision"
)

// A rule lists imports that are forbidden for some packages.
type rule struct {
	who    string   // a folder, and all below it; "" is everything
	except []string // exempt folders
	never  []string // import paths, and all below them; a leading / is our own module
	but    []string // allowed import paths
	itself []string // import paths, without those below them
	reason string
}

var rules = []rule{
	{
		who:    "mcp",
		never:  []string{"/host", "/gateway", "/model", "/policy", "/guard", "/toolsearch", "/config", "/definitions", "/servers", "/cmd", "/conformance", "/internal/terminal"},
		reason: "the library imports nothing of the product",
	},
	{
		who:    "internal",
		except: []string{"internal/archtest", "internal/scripted", "internal/replay"},
		never:  []string{"/mcp", "/host", "/gateway", "/model", "/policy", "/guard", "/toolsearch", "/config", "/servers", "/cmd", "/conformance"},
		reason: "imports run downward only, and internal is the bottom",
	},
	{
		who:    "",
		except: []string{"docs/screen", "internal"},
		never:  []string{"/internal/scripted", "/internal/replay"},
		reason: "they play models for tests",
	},
	{
		who:    "internal/jsonrpc",
		never:  []string{"/"},
		reason: "it knows JSON-RPC and nothing of MCP, so that its one pass over the bytes stays a thing of its own",
	},
	{
		who:    "internal/revision",
		never:  []string{"/mcp", "/internal/schema", "net/http"},
		reason: "it turns bytes into bytes; whoever needs more of it is about to put a second path through the protocol",
	},
	{
		who:    "mcp/internal/edge",
		never:  []string{"net", "net/http", "os", "/mcp/internal/lines", "/mcp/internal/link", "/mcp/internal/httplink"},
		reason: "the edge knows no transport: it is handed parsed messages",
	},
	{
		who:    "mcp/internal/link",
		never:  []string{"/mcp", "/internal/revision", "net/http"},
		reason: "a link carries messages and knows no revision",
	},
	{
		who:    "gateway",
		never:  []string{"/host", "/model", "/config", "/servers", "/cmd", "/mcp/command", "/mcp/streamable", "/mcp/stdio", "/mcp/httpsse"},
		reason: "a gateway routes between Handlers; how they are reached is its caller's business",
	},
	{
		who:    "host",
		never:  []string{"/gateway/edit", "/gateway/redact", "/gateway/results", "/gateway/retry", "/gateway/review", "/gateway/rules", "/gateway/search", "/gateway/secrets", "/config", "/servers", "/cmd", "/mcp/command", "/mcp/streamable", "/mcp/stdio", "/mcp/httpsse"},
		but:    []string{module + "/gateway/review"}, // both approve the same definitions
		reason: "a host has its servers behind a gateway; how they are reached, and what is around them, is its caller's business",
	},
	{
		who:    "host",
		except: []string{"host/archive", "host/trace", "host/tui"},
		never:  []string{"/host/archive", "/host/trace", "/host/tui"},
		reason: "the loop knows a Record, a Person and whoever hears its events; what they are is its caller's choice",
	},
	{
		who:    "host/tui",
		never:  []string{"/host/archive", "/host/trace", "/toolsearch"},
		reason: "the screen shows a Session, which can be scripted",
	},
	{
		who:    "policy",
		never:  []string{"/mcp", "/host", "/gateway", "/model", "/guard", "/toolsearch", "/config", "/servers", "/cmd"},
		reason: "rules decide about what they are told, for the host, the gateway, or anybody",
	},
	{
		who:    "guard",
		never:  []string{"/mcp", "/host", "/gateway", "/model", "/policy", "/toolsearch", "/config", "/servers", "/cmd"},
		reason: "it looks at texts and labels; what follows from them is its caller's decision",
	},
	{
		who:    "toolsearch",
		never:  []string{"/mcp", "/host", "/gateway", "/model", "/policy", "/guard", "/config", "/servers", "/cmd"},
		reason: "it ranks texts, for the host, the gateway, or anybody",
	},
	{
		who:    "model",
		except: []string{"model/offline"},
		never:  []string{"/mcp", "/host", "/gateway", "/policy", "/guard", "/toolsearch", "/config", "/servers", "/cmd"},
		reason: "a model sees a conversation and tools, and knows nothing of MCP; only the one without language finds tools by search",
	},
	{
		who:    "model/offline",
		never:  []string{"/mcp", "/host", "/gateway", "/policy", "/guard", "/config", "/servers", "/cmd"},
		reason: "it stands in for any model, so it knows what any model knows",
	},
	{
		who:    "cmd",
		never:  []string{"/model/anthropic", "/model/openai", "/model/responses"},
		reason: "which providers there are, and how each is asked, is in the table of model/providers",
	},
	{
		who:    "config",
		never:  []string{"/mcp", "/host", "/gateway", "/model", "/policy", "/guard", "/toolsearch", "/servers", "/cmd"},
		reason: "it reads files; what becomes of a server is its caller's business",
	},
	{
		who:    "launch",
		never:  []string{"/host", "/gateway", "/console", "/cmd"},
		reason: "it connects to servers; what is asked of them is its caller's business",
	},
	{
		who:    "up",
		never:  []string{"/host", "/model", "/servers", "/console", "/cmd"},
		reason: "it is the gateway of junction up for any program; what is shown of it is its caller's business",
	},
	{
		who:    "sandbox",
		never:  []string{"/mcp", "/host", "/gateway", "/model", "/policy", "/guard", "/toolsearch", "/config", "/servers", "/cmd"},
		reason: "it confines programs; what they say is its caller's business",
	},
	{
		who:    "hostconfig",
		never:  []string{"/mcp", "/host", "/gateway", "/model", "/policy", "/guard", "/toolsearch", "/config", "/servers", "/cmd"},
		reason: "it changes files; what stands in them is its caller's business",
	},
	{
		who:    "",
		except: []string{"hostconfig", "install"},
		never:  []string{"github.com/pelletier/go-toml"},
		reason: "one host has its configuration in TOML, Python and Rust their projects, and Junction nothing",
	},
	{
		who:    "install/add",
		never:  []string{"/lint", "/cases", "/console", "/servers", "/cmd"},
		reason: "it asks a user through a Prompter, and shows cards; how these look is its caller's business",
	},
	{
		who:    "install",
		except: []string{"install/add"},
		never:  []string{"/mcp", "/host", "/gateway", "/model", "/policy", "/guard", "/toolsearch", "/config", "/registry", "/servers", "/cmd"},
		reason: "it puts packages on the machine; who found them, and what may be done to them when they run, is its caller's business",
	},
	{
		who:    "",
		except: []string{"install"},
		never:  []string{"oras.land/oras-go"},
		reason: "images are looked up in one place",
	},
	{
		who:    "lint",
		never:  []string{"/host", "/gateway", "/policy", "/config", "/definitions", "/servers", "/cmd"},
		reason: "it judges what a client sees, in anybody's tests; what the checks it calls know is theirs",
	},
	{
		who:    "cases",
		never:  []string{"/host", "/gateway", "/model", "/policy", "/guard", "/toolsearch", "/config", "/definitions", "/servers", "/cmd"},
		reason: "it asks a server as any client does; how that is reached is its caller's business",
	},
	{
		who:    "audit",
		never:  []string{"/host", "/gateway", "/model", "/policy", "/guard", "/toolsearch", "/config", "/servers", "/cmd"},
		reason: "it writes down what it is told, around any Handler",
	},
	{
		who:    "recording",
		never:  []string{"/host", "/gateway", "/model", "/policy", "/toolsearch", "/audit", "/config", "/servers", "/cmd"},
		reason: "it records around any Handler, and is one",
	},
	{
		who:    "console",
		never:  []string{"/host", "/gateway", "/model", "/policy", "/audit", "/config", "/servers", "/cmd"},
		reason: "it serves a page and what it is given; what runs, and how it is reached, is its caller's business",
	},
	{
		who:    "registry",
		never:  []string{"/mcp", "/host", "/gateway", "/model", "/policy", "/guard", "/toolsearch", "/config", "/install", "/sandbox", "/servers", "/cmd"},
		reason: "it knows what registries list; what becomes of a server is its caller's business",
	},
	{
		who:    "ratelimit",
		never:  []string{"/host", "/gateway", "/model", "/policy", "/guard", "/toolsearch", "/config", "/servers", "/cmd", "/internal"},
		but:    []string{module + "/internal/revision", module + "/internal/note", module + "/internal/refused"}, // the methods that use something, their reports and the errors for clients
		reason: "it bounds what is asked of any Handler",
	},
	{
		who:    "authserver",
		never:  []string{"/host", "/gateway", "/model", "/policy", "/guard", "/toolsearch", "/config", "/servers", "/cmd", "/apikey", "/audit"},
		reason: "it gives tokens for a resource; what is behind that is its caller's business",
	},
	{
		who:    "",
		except: []string{"authserver"},
		never:  []string{"github.com/zitadel/oidc", "golang.org/x/crypto/argon2"},
		reason: "there is one authorization server; who checks tokens needs none of it",
	},
	{
		who:    "",
		except: []string{"registry", "cmd/junction"},
		never:  []string{"golang.org/x/mod"},
		reason: "versions are compared where registries and the newest release are read",
	},
	{
		who:    "",
		except: []string{"docs/site"},
		never:  []string{"html/template", "text/template"},
		reason: "what they find by reflection keeps the linker from leaving out methods: the binary grows by 7 MB",
	},
	{
		who:    "definitions",
		never:  []string{"/mcp", "/host", "/gateway", "/model", "/policy", "/guard", "/toolsearch", "/config", "/servers", "/cmd"},
		reason: "it keeps bytes; what they mean is the gateway's business",
	},
	{
		who:    "servers",
		except: []string{"servers/everything", "servers/filesystem"},
		never:  []string{"/gateway", "/config", "/cmd", "/internal"},
		but:    []string{module + "/internal/outside", module + "/internal/share"}, // one list of internal addresses, and one division among callers
		reason: "a server that ships with Junction is written like anybody's: with the public library",
	},
	{
		who:    "",
		except: []string{"cmd"},
		never:  []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "/cmd"},
		reason: "flags and exit codes are the command's; nothing below it knows that there is one",
	},
	{
		who:    "",
		except: []string{"internal/schema"},
		never:  []string{"github.com/santhosh-tekuri/jsonschema", "github.com/google/jsonschema-go"},
		reason: "there is one place that validates, so there is one set of messages and one set of limits",
	},
	{
		who:    "",
		except: []string{"internal/uritemplate"},
		never:  []string{"github.com/yosida95/uritemplate"},
		reason: "its matching can take seconds for one URI; internal/uritemplate takes linear time",
	},
	{
		who:    "",
		except: []string{"config", "hostconfig", "policy"},
		never:  []string{"github.com/tailscale/hujson"},
		reason: "comments and trailing commas are for configuration files only, never for the wire",
	},
	{
		who:    "",
		except: []string{"policy"},
		never:  []string{"cel.dev/cel-go", "cel.dev/expr", "github.com/google/cel-go"},
		reason: "conditions are compiled and priced in one place, so there is one set of limits",
	},
	{
		who:    "policy",
		never:  []string{"cel.dev/cel-go/ext"},
		reason: "its replace and join make gigabytes of text before their price is known",
	},
	{
		who:    "",
		except: []string{"internal/sqlitefile", "host/archive", "registry", "state/sqlite", "servers/memory", "servers/sql"},
		never:  []string{"modernc.org/sqlite", "github.com/lib/pq", "github.com/go-sql-driver/mysql", "database/sql"},
		reason: "what is stored is behind the archive, the registry or state, which know their limits and transactions; a server has its own",
	},
	{
		who:    "",
		except: []string{"state/valkey", "state/postgres"},
		never:  []string{"github.com/redis/rueidis", "github.com/jackc/pgx"},
		reason: "a program that imports the library must not see databases in its build; package state has the interfaces, state/dial the stores",
	},
	{
		who:    "",
		except: []string{"host/tui", "cmd/junction/internal/live", "docs/screen", "docs/site"},
		never:  []string{"charm.land", "github.com/charmbracelet", "github.com/yuin/goldmark"},
		reason: "each screen is one package; a program that embeds the loop must not see it in its build",
	},
	{
		who:    "",
		never:  []string{"github.com/openai/openai-go", "github.com/anthropics/anthropic-sdk-go"},
		reason: "they take minutes to compile and 19 MB of the binary, for what the adapters do with a few structs of their own",
	},
	{
		who:    "",
		except: []string{"toolsearch"},
		never:  []string{"github.com/kljensen/snowball"},
		reason: "words are stemmed for the search, and for nothing else",
	},
	{
		who:    "",
		except: []string{"mcp/otelmcp", "traces", "up/layer"},
		never:  []string{"go.opentelemetry.io"},
		reason: "who imports the library must not see telemetry in the build",
	},
}

func TestImportsFollowTheRules(t *testing.T) {
	for _, s := range sources(t) {
		if !s.inModule() || s.isTest || s.dir() == "internal/archtest" {
			continue
		}
		for _, spec := range s.file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rules {
				if r.forbids(s.path, imported) {
					t.Errorf("%s imports %s: %s", s.path, imported, r.reason)
				}
			}
		}
	}
}

func (r *rule) forbids(file, imported string) bool {
	applies := r.who == "" || below(file, r.who)
	if !applies || slices.Contains(r.but, imported) || slices.ContainsFunc(r.except, func(folder string) bool { return below(file, folder) }) {
		return false
	}
	return slices.Contains(r.itself, imported) || slices.ContainsFunc(r.never, func(p string) bool {
		switch {
		case p == "/":
			return below(imported, module)
		case p[0] == '/':
			return below(imported, module+p)
		case strings.Contains(p, "."):
			return below(imported, p)
		}
		return imported == p // of the standard library: net does not include net/url
	})
}

var date = regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)

// A revision named elsewhere is a difference that is missed when the next one comes. Comments may
// name the page of the specification that they rely on.
func TestOnlyThePackageRevisionNamesRevisions(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest || !s.inModule() || below(s.path, "internal/revision") {
			continue
		}
		for _, literal := range stringLiterals(s.file) {
			for _, name := range date.FindAllString(literal.Value, -1) {
				if revision.Lookup(name) != nil {
					t.Errorf("%s: %s: revisions are told apart in internal/revision only: give Revision a field that says what differs", files.Position(literal.Pos()), literal.Value)
				}
			}
		}
	}
}
