package integration

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// hostileView tries what a view must not be able to do, and says what came of it.
const hostileView = `<!doctype html><script>
const tries = {
  origin: () => self.origin,
  cookie: () => document.cookie,
  storage: () => { localStorage.setItem('a', 'b'); return 'kept' },
  page: () => parent.document.title,
  popup: () => String(open('about:blank')),
  address: () => location.pathname.replace(/^\/[A-Z0-9]{26}$/, 'its own'),
  addresses: () => [location.href, document.baseURI, document.referrer, ...location.ancestorOrigins ?? [], ...performance.getEntries().map(e => e.name)].filter(a => /api|connections/.test(a)).join(),
  request: async () => (await fetch(location.href)).status,
  picture: () => new Promise((resolve, reject) => { const i = new Image(); i.onload = () => resolve('loaded'); i.onerror = () => reject(new Error('refused')); i.src = new URL('/icon.svg', location.href) }),
}
;(async () => {
  const said = {}
  for (const [name, attempt] of Object.entries(tries)) {
    try { said[name] = await attempt() } catch (e) { said[name] = 'refused' }
  }
  parent.postMessage(said, '*')
})()
</script>`

// The inspector shows the view of a server that its authors wrote for other hosts, which speaks to the page; and one that
// wants to reach the console cannot.
func TestViewsAreShownInAFrameOfTheirOwn(t *testing.T) {
	t.Parallel()
	hostile := mcp.NewServer("hostile", "1")
	apps.AddView(hostile, mcp.Resource{URI: "ui://hostile", Name: "hostile"}, apps.View{HTML: hostileView})
	endpoint := streamable.Handler(hostile)
	remote := httptest.NewServer(endpoint)
	t.Cleanup(func() { endpoint.Close(); remote.Close() })
	for name, test := range map[string]struct {
		server map[string]any
		uri    string
		want   string // the beginning of what it says
	}{
		"official": {map[string]any{"command": node(t), "args": []string{appServer(t, "basic-vanillajs"), "--stdio"}}, "ui://get-time/mcp-app.html", `{"method":"ui/initialize",`},
		"hostile":  {map[string]any{"url": remote.URL}, "ui://hostile", `{"origin":"null","cookie":"refused","storage":"refused","page":"refused","popup":"null","address":"its own","addresses":"","request":"refused","picture":"refused"}`},
	} {
		t.Run(name, func(t *testing.T) {
			server, err := json.Marshal(test.server)
			if err != nil {
				t.Fatal(err)
			}
			printed := run(t, isolated(t), node(t), absolute(t, "clients/view/view.mjs"), npm(t, "servers", "node_modules", "playwright-core"), program(t, "chromium"), consoleOf(t, isolated(t), "console", "--no-browser"), string(server), test.uri)
			var said struct {
				Origin string
				Data   json.RawMessage
			}
			if err := json.Unmarshal([]byte(printed), &said); err != nil {
				t.Fatalf("%v: %s", err, printed)
			}
			if said.Origin != "null" || !strings.HasPrefix(string(said.Data), test.want) {
				t.Errorf("the view at %s says %s, want %s", said.Origin, said.Data, test.want)
			}
		})
	}
}
