package install

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// imageRegistry serves a registry that requires a token and has the tag 1.2.0 of acme/server.
func imageRegistry(t *testing.T, digest string) (host string) {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token":
			if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = w.Write([]byte(`{"token":"good"}`))
		case r.Header.Get("Authorization") != "Bearer good":
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+server.URL+`/token",service="x",scope="repository:acme/server:pull"`)
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v2/acme/server/manifests/1.2.0" || r.URL.Path == "/v2/acme/server/manifests/latest" || strings.HasSuffix(r.URL.Path, digest):
			w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
			w.Header().Set("Docker-Content-Digest", digest)
			w.Header().Set("Content-Length", "2")
		case r.URL.Path == "/v2/acme/server/tags/list":
			_, _ = w.Write([]byte(`{"name":"acme/server","tags":["latest","1.2.0","v1.10.0","1.9","sha-1234567","2.0.0-rc1"]}`))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	config := t.TempDir()
	host = strings.TrimPrefix(server.URL, "http://")
	if err := os.WriteFile(filepath.Join(config, "config.json"), []byte(`{"auths":{"`+host+`":{"auth":"bWU6c2VjcmV0"}}}`), 0o600); err != nil { // me:secret
		t.Fatal(err)
	}
	t.Setenv("DOCKER_CONFIG", config)
	return host
}

func TestAnImageIsLockedByItsDigestAndRunFromIt(t *testing.T) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	host := imageRegistry(t, digest)
	said := filepath.Join(t.TempDir(), "said")
	fakeProgram(t, "docker", `echo "$@" >>'`+said+`'`)
	s := newStore(t)
	for _, p := range []Package{{Name: host + "/acme/server:1.2.0"}, {Name: host + "/acme/server", Version: "1.2.0"}, {Name: "acme/server", Version: "1.2.0", Registry: "http://" + host + "/"}} {
		p.Type = OCI
		l, err := s.Resolve(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		image := host + "/acme/server@" + digest
		if l.Name != host+"/acme/server" || l.Version != "1.2.0" || l.Integrity != digest || !slices.Equal(l.Program, []string{"docker", "run", "-i", "--rm", image}) {
			t.Errorf("%+v: locked is %+v", p, l)
		}
		program, err := s.Install(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"run", "-i", "--rm", "--pull=never", image}; filepath.Base(program.Argv[0]) != "docker" || !slices.Equal(program.Argv[1:], want) {
			t.Errorf("it is started by %q, want docker %q", program.Argv, want)
		}
		if a, err := s.Advice(t.Context(), l); err != nil || a != (Advice{Newest: "v1.10.0"}) {
			t.Errorf("%+v, %v", a, err)
		}
		l.Integrity = "sha256:" + strings.Repeat("00", 32)
		if a, err := s.Advice(t.Context(), l); err != nil || a != (Advice{Newest: "v1.10.0", Pulled: true}) {
			t.Errorf("of a digest that is gone: %+v, %v", a, err)
		}
		if _, err := s.Audit(t.Context(), l); !errors.Is(err, ErrNoAudit) {
			t.Errorf("audit: %v", err)
		}
	}
	if got, err := os.ReadFile(said); err != nil || string(got) != "pull --quiet "+host+"/acme/server@"+digest+"\n" {
		t.Errorf("docker was asked for %q, %v", got, err)
	}
	if _, err := s.Resolve(t.Context(), Package{Type: OCI, Name: host + "/acme/server", Version: "3"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a tag that is not there: %v", err)
	}
}

func TestForbiddenImagesAreExplained(t *testing.T) {
	host := imageRegistry(t, "sha256:"+strings.Repeat("ab", 32))
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	_, err := newStore(t).Resolve(t.Context(), Package{Type: OCI, Name: host + "/acme/server"})
	if err == nil || !strings.Contains(err.Error(), "you have no access; if you do, log in with docker login") {
		t.Errorf("error %v", err)
	}
}

func TestADigestThatIsNoneIsRefused(t *testing.T) {
	host := imageRegistry(t, "sha512:"+strings.Repeat("ab", 64))
	if _, err := newStore(t).Resolve(t.Context(), Package{Type: OCI, Name: host + "/acme/server"}); err == nil || !strings.Contains(err.Error(), "which is not a SHA-256") {
		t.Errorf("error %v", err)
	}
	for _, l := range []Locked{
		{Package: Package{Type: OCI, Name: "--privileged"}, Integrity: "sha256:" + strings.Repeat("ab", 32)},
		{Package: Package{Type: OCI, Name: "a b"}, Integrity: "sha256:" + strings.Repeat("ab", 32)},
		{Package: Package{Type: OCI, Name: "a"}, Integrity: "latest"},
	} {
		fakeProgram(t, "docker", "exit 0")
		if _, err := newStore(t).Install(t.Context(), &l); err == nil || !strings.Contains(err.Error(), "which is not valid") {
			t.Errorf("%+v: error %v", l, err)
		}
	}
}

func TestAnEngineThatFailsSaysWhy(t *testing.T) {
	l := &Locked{Package: Package{Type: OCI, Name: "acme/server", Version: "1"}, Integrity: "sha256:" + strings.Repeat("ab", 32)}
	fakeProgram(t, "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
	if _, err := newStore(t).Install(t.Context(), l); err == nil || !strings.HasSuffix(err.Error(), "pull exited with status 1: Cannot connect to the Docker daemon") {
		t.Errorf("error %v", err)
	}
	fakeProgram(t, "docker", "echo 'manifest unknown' >&2; exit 1")
	if _, err := newStore(t).Install(t.Context(), l); !errors.Is(err, ErrPulled) {
		t.Errorf("error %v", err)
	}
	path := fakePrograms(t, "podman")
	s := newStore(t)
	p, err := s.Install(t.Context(), l)
	if err != nil || p.Argv[0] != filepath.Join(path, "podman") {
		t.Errorf("with podman only: %+v, %v", p, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := s.Open(l); !errors.Is(err, ErrRuntime) {
		t.Errorf("without an engine: %v", err)
	}
}

func TestNamesOfImagesAreTakenApartAsEnginesDo(t *testing.T) {
	for _, test := range []struct {
		p                Package
		image, reference string
	}{
		{Package{Name: "mcp/time"}, "mcp/time", "latest"},
		{Package{Name: "mcp/time:1.0"}, "mcp/time", "1.0"},
		{Package{Name: "localhost:5000/time"}, "localhost:5000/time", "latest"},
		{Package{Name: "ghcr.io/a/b:x", Version: "2"}, "ghcr.io/a/b", "2"},
		{Package{Name: "a/b:x@sha256:" + strings.Repeat("ab", 32), Version: "2"}, "a/b", "sha256:" + strings.Repeat("ab", 32)},
		{Package{Name: "a/b", Registry: "https://r.example.com/"}, "r.example.com/a/b", "latest"},
		{Package{Name: "q.example.com/a/b", Registry: "https://r.example.com"}, "q.example.com/a/b", "latest"},
	} {
		if image, reference, err := splitImage(test.p); err != nil || image != test.image || reference != test.reference {
			t.Errorf("%+v: %s and %s, %v, want %s and %s", test.p, image, reference, err, test.image, test.reference)
		}
	}
}

func TestOptionsOfAnImageAreLockedAndChecked(t *testing.T) {
	path := fakePrograms(t, "docker")
	digest := "sha256:" + strings.Repeat("0", 64)
	for options, want := range map[string]string{
		"":                                  "",
		"-e A -v /srv/notes:/x --read-only": "",
		"--privileged":                      "the lock passes --privileged to docker run, which junction never writes",
		"--network host":                    "the lock passes --network to docker run, which junction never writes",
		"-d":                                "the lock passes -d to docker run, which junction never writes",
		"--rm":                              "the lock passes --rm to docker run, which junction never writes",
		"-e A other":                        `the lock has "other" among the options of docker run, which docker would treat as the image`,
		"-e":                                "the lock has options of docker run of which -e has no value",
	} {
		l := &Locked{Package: Package{Type: OCI, Name: "acme/x", Version: "1"}, Integrity: digest}
		key := keyOf(l)
		l.SetOptions(strings.Fields(options))
		if keyOf(l) != key && options == "" || strings.Join(l.Options(), " ") != options {
			t.Errorf("%s: the options are %q", options, l.Options())
		}
		p, err := oci{}.program(l, "/dir")
		if want != "" {
			if err == nil || err.Error() != want {
				t.Errorf("%s: error %v, want %s", options, err, want)
			}
			continue
		}
		words := strings.Join(CommandLine("x", l), " ")
		if wanted := strings.Join(strings.Fields("docker run -i --rm "+options+" acme/x@"+digest), " "); words != wanted {
			t.Errorf("%s: it is written as %s", options, words)
		}
		if wanted := strings.Join(strings.Fields(path+"/docker run -i --rm --pull=never "+options+" acme/x@"+digest), " "); err != nil || strings.Join(p.Argv, " ") != wanted || (options != "") != slices.Equal(p.Passed, []string{"A"}) {
			t.Errorf("%s: it is started by %q, %q, %v", options, p.Argv, p.Passed, err)
		}
	}
}
