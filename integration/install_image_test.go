package integration

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/install"
)

// The password of the user "me" is "secret".
const registryUsers = "me:$2a$04$bwY3wmpIV6EZnN2JKQ6PhOjHCNFQt7i80A97UIsKNmTL33zWt38k2\n"

// Docker's own registry, as Debian has it, behind a login.
func TestImagesOfARegistryAreLockedByTheirDigests(t *testing.T) {
	registry := program(t, "docker-registry")
	dir, address := t.TempDir(), freeAddress(t)
	users, config := filepath.Join(dir, "users"), filepath.Join(dir, "registry.yml")
	text := fmt.Sprintf("version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: %s\n  delete:\n    enabled: true\nhttp:\n  addr: %s\nauth:\n  htpasswd:\n    realm: test\n    path: %s\n", filepath.Join(dir, "data"), address, users)
	if err := errors.Join(os.WriteFile(users, []byte(registryUsers), 0o600), os.WriteFile(config, []byte(text), 0o600),
		os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"auths":{"`+address+`":{"auth":"bWU6c2VjcmV0"}}}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	serving(t, os.Environ(), address, registry, "serve", config)
	ask := func(method, url, kind string, body []byte) *http.Response {
		t.Helper()
		request, err := http.NewRequest(method, url, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth("me", "secret")
		request.Header.Set("Content-Type", kind)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		return response
	}
	digestOf := func(b []byte) string { sum := sha256.Sum256(b); return "sha256:" + hex.EncodeToString(sum[:]) }
	push := func(tag, about string) string {
		t.Helper()
		blob := []byte(`{"about":"` + about + `"}`)
		upload := ask(http.MethodPost, "http://"+address+"/v2/acme/server/blobs/uploads/", "", nil)
		ask(http.MethodPut, upload.Header.Get("Location")+"&digest="+digestOf(blob), "application/octet-stream", blob)
		manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":%d,"digest":%q},"layers":[]}`, len(blob), digestOf(blob))
		if response := ask(http.MethodPut, "http://"+address+"/v2/acme/server/manifests/"+tag, "application/vnd.oci.image.manifest.v1+json", manifest); response.StatusCode != http.StatusCreated {
			t.Fatalf("pushing %s: %s", tag, response.Status)
		}
		return digestOf(manifest)
	}
	first := push("1.0.0", "one")
	s := newInstallStore(t)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	if _, err := s.Resolve(t.Context(), install.Package{Type: install.OCI, Name: address + "/acme/server", Version: "1.0.0"}); err == nil || !strings.Contains(err.Error(), "docker login") {
		t.Errorf("without a login: %v", err)
	}
	t.Setenv("DOCKER_CONFIG", dir)
	l, err := s.Resolve(t.Context(), install.Package{Type: install.OCI, Name: address + "/acme/server", Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	if l.Integrity != first || l.Program[len(l.Program)-1] != address+"/acme/server@"+first {
		t.Errorf("locked is %+v, want the digest %s", l, first)
	}
	second := push("1.1.0", "two")
	push("1.0.0", "another under the same tag")
	if a, err := s.Advice(t.Context(), l); err != nil || a != (install.Advice{Newest: "1.1.0"}) {
		t.Errorf("%+v, %v", a, err)
	}
	if again, err := s.Resolve(t.Context(), l.Package); err != nil || again.Integrity == first || again.Integrity == second {
		t.Errorf("resolved again it is %+v, %v", again, err)
	}
	if response := ask(http.MethodDelete, "http://"+address+"/v2/acme/server/manifests/"+first, "", nil); response.StatusCode != http.StatusAccepted {
		t.Fatalf("deleting: %s", response.Status)
	}
	if a, err := s.Advice(t.Context(), l); err != nil || a != (install.Advice{Newest: "1.1.0", Pulled: true}) {
		t.Errorf("once it is deleted: %+v, %v", a, err)
	}
	for _, tag := range []string{"2.0.0", "none"} {
		if _, err := s.Resolve(t.Context(), install.Package{Type: install.OCI, Name: address + "/acme/server", Version: tag}); !errors.Is(err, install.ErrNotFound) {
			t.Errorf("%s: %v", tag, err)
		}
	}
}
