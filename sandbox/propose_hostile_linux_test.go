package sandbox

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
)

// A program that is learned from can request paths that it does not see, and --yes writes the
// proposal.
func TestNothingIsProposedThatJunctionKeeps(t *testing.T) {
	root := machine(t)
	for name, value := range map[string]string{"XDG_CONFIG_HOME": root + "/data/config", "XDG_CACHE_HOME": "", "JUNCTION_STATE": root + "/data/state"} {
		t.Setenv(name, value)
	}
	var paths []string
	for _, name := range []string{"data/config/junction/mcp.json", "data/state/approvals.json", "home/.cache/junction/packages/other/index.js"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	for _, kind := range []watch.Kind{watch.Read, watch.Write, watch.Change} {
		r := new(Record)
		for _, path := range paths {
			r.see(watch.Access{Kind: kind, Path: path})
		}
		if got := r.propose(Learned{}, nil); !reflect.DeepEqual(got.Profile, Profile{}) || len(got.Omitted) != len(paths) {
			t.Errorf("%v: proposed is %+v", kind, got)
		}
	}
	// The same holds for a folder that contains it.
	r := new(Record)
	var read []string
	for _, name := range []string{"1", "2", "3", "4"} {
		path := filepath.Join(root, "data", name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		read = append(read, path)
		r.see(watch.Access{Kind: watch.Read, Path: path})
	}
	r.see(watch.Access{Kind: watch.Read, Path: root + "/data"})
	if got := r.propose(Learned{}, nil); !reflect.DeepEqual(got.Profile, Profile{Read: read}) || len(got.Omitted) != 1 {
		t.Errorf("proposed is %+v", got)
	}
}

func TestFoldersWithLoginsAreNotProposed(t *testing.T) {
	root := machine(t)
	for _, name := range []string{"config", "credentials", "ignore", "attributes", "message"} {
		path := filepath.Join(root, "home/.config/git", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, names := range [][]string{{"config"}, {"config", "ignore", "attributes", "message"}, {"config", "."}} {
		r := new(Record)
		var want []string
		for _, name := range names {
			r.see(watch.Access{Kind: watch.Read, Path: filepath.Join(root, "home/.config/git", name)})
			if name != "." {
				want = append(want, "~/.config/git/"+name)
			}
		}
		slices.Sort(want)
		if got := r.propose(Learned{}, nil).Profile; !reflect.DeepEqual(got, Profile{Read: want}) {
			t.Errorf("%q: proposed is %+v", names, got)
		}
	}
}

// A program chooses the names that it resolves and the addresses that it connects to.
func TestLocalAddressesAndOtherHostsAreNotProposed(t *testing.T) {
	r := new(Record)
	listens := func(port uint16) bool { return port == 6274 }
	n := &network{names: newNames((&Sandbox{o: Options{Record: r}}).allowedHosts(), func(Refusal) {})}
	ask := func(name string) {
		q := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
		packet, err := q.Pack()
		if err != nil {
			t.Fatal(err)
		}
		var m dnsmessage.Message
		if err := m.Unpack(n.names.answer(packet)); err != nil {
			t.Fatal(err)
		}
		for _, a := range m.Answers {
			host, _ := a.Body.(*dnsmessage.AResource)
			n.learn(r, watch.Access{Kind: watch.Connect, Address: netip.AddrPortFrom(netip.AddrFrom4(host.A), 443).String()}, listens)
		}
	}
	for _, name := range []string{"api.example.com.", "*.example.com.", "127.0.0.1.", "169.254.169.254.", "localhost:7717.", "a b.", "x.localhost."} {
		ask(name)
	}
	for _, address := range []string{"1.1.1.1:443", "169.254.169.254:80", "10.0.0.5:5432", "[fd00:ec2::254]:80", "192.168.1.1:443", "127.0.0.1:27124", "127.0.0.1:6274"} {
		n.learn(r, watch.Access{Kind: watch.Connect, Address: address}, listens)
	}
	got := r.propose(Learned{}, nil)
	if want := []string{"1.1.1.1", "api.example.com", "x.localhost"}; !slices.Equal(got.Profile.Hosts, want) {
		t.Errorf("proposed are %q, want %q", got.Profile.Hosts, want)
	}
	var said []string
	for _, o := range got.Omitted {
		said = append(said, o.Host)
	}
	if !slices.Contains(said, "127.0.0.1:27124") || slices.Contains(said, "127.0.0.1:6274") {
		t.Errorf("left to the person are %q, which lacks what the program needs of this machine, or has what is its own", said)
	}
}
