package registry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fakeRegistry responds like the real one: it has a row for each version, sorted by name and
// version. A version that is replaced as the latest does not count as updated.
type fakeRegistry struct {
	mu    sync.Mutex
	rows  []fakeRow
	page  int
	token string
	asked []string // requests, without the host
	// answer replaces the usual response if it reports true.
	answer func(w http.ResponseWriter, r *http.Request) bool
	*httptest.Server
}

type fakeRow struct {
	name, version, server string
	status                Status
	message               string
	latest                bool
	published, updated    time.Time
	extra                 string // additional members of _meta
}

func newFake(t *testing.T) *fakeRegistry {
	f := &fakeRegistry{page: 3}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// serverJSON returns a server.json; more are additional members.
func serverJSON(name, version, description, more string) string {
	text := fmt.Sprintf(`{"name":%q,"version":%q,"description":%q`, name, version, description)
	if more != "" {
		text += "," + more
	}
	return text + "}"
}

// publish adds a version, which becomes the latest.
func (f *fakeRegistry) publish(at time.Time, server string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var s struct{ Name, Version string }
	if err := json.Unmarshal([]byte(server), &s); err != nil {
		panic(err)
	}
	for i := range f.rows {
		if f.rows[i].name == s.Name {
			f.rows[i].latest = false
		}
	}
	f.rows = append(f.rows, fakeRow{name: s.Name, version: s.Version, server: server, status: Active, latest: true, published: at, updated: at})
	slices.SortFunc(f.rows, func(a, b fakeRow) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.version, b.version))
	})
}

// set changes the status of a version.
func (f *fakeRegistry) set(at time.Time, name, version string, status Status, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.rows {
		if r := &f.rows[i]; r.name == name && r.version == version {
			r.status, r.message, r.updated = status, message, at
		}
	}
}

func (f *fakeRegistry) questions() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

func (f *fakeRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r.URL.RequestURI())
	if f.answer != nil && f.answer(w, r) {
		return
	}
	if f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"title":"Unauthorized","status":401,"detail":"who are you?"}`)
		return
	}
	path, inside := strings.CutPrefix(r.URL.EscapedPath(), "/v0.1/servers")
	q := r.URL.Query()
	var rows []fakeRow
	switch parts := strings.Split(strings.Trim(path, "/"), "/"); {
	case !inside:
		http.NotFound(w, r)
		return
	case path == "":
		rows = f.list(q)
		next := ""
		if len(rows) > f.page {
			rows = rows[:f.page]
			next = rows[len(rows)-1].name + ":" + rows[len(rows)-1].version
		}
		f.write(w, rows, next)
		return
	default:
		name, _ := url.PathUnescape(parts[0])
		for _, row := range f.rows {
			if row.name == name && (row.status != Deleted || q.Get("include_deleted") == "true") && (len(parts) < 3 || parts[2] == row.version || parts[2] == "latest" && row.latest) {
				rows = append(rows, row)
			}
		}
		switch {
		case len(rows) == 0:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"title":"Not Found","status":404,"detail":"Server not found"}`)
		case len(parts) == 3:
			fmt.Fprint(w, rows[0].text())
		default:
			f.write(w, rows, "")
		}
	}
}

func (f *fakeRegistry) list(q url.Values) []fakeRow {
	since, _ := time.Parse(time.RFC3339Nano, q.Get("updated_since"))
	deleted := q.Get("include_deleted") == "true" || !since.IsZero()
	name, version, _ := strings.Cut(q.Get("cursor"), ":")
	var rows []fakeRow
	for _, row := range f.rows {
		behind := q.Get("cursor") == "" || cmp.Or(strings.Compare(row.name, name), strings.Compare(row.version, version)) > 0
		if behind && (deleted || row.status != Deleted) && row.updated.After(since) && (q.Get("version") != "latest" || row.latest) {
			rows = append(rows, row)
		}
	}
	return rows
}

func (r fakeRow) text() string {
	said := fmt.Sprintf(`"status":%q,"publishedAt":%q,"updatedAt":%q,"isLatest":%t`, r.status, r.published.Format(time.RFC3339Nano), r.updated.Format(time.RFC3339Nano), r.latest)
	if r.message != "" {
		said += `,"statusMessage":` + strconv.Quote(r.message)
	}
	return `{"server":` + r.server + `,"_meta":{"` + official + `":{` + said + `}` + r.extra + `}}`
}

func (f *fakeRegistry) write(w http.ResponseWriter, rows []fakeRow, next string) {
	w.Header().Set("Content-Type", "application/json")
	var texts []string
	for _, row := range rows {
		texts = append(texts, row.text())
	}
	fmt.Fprintf(w, `{"servers":[%s],"metadata":{"count":%d,"nextCursor":%q}}`, strings.Join(texts, ","), len(rows), next)
}
