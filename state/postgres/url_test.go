package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestURLs(t *testing.T) {
	for _, test := range []struct {
		url, host, listen string
		fallbacks         int
		tls               bool
	}{
		{url: "postgres://u:p@127.0.0.1:5433/db", host: "127.0.0.1", listen: "127.0.0.1", fallbacks: 0},
		{url: "postgresql://u:p@[::1]/db?sslmode=disable", host: "::1", listen: "::1"},
		{url: "postgres://u:p@db.example/db", host: "db.example", listen: "db.example", tls: true},
		{url: "postgres://u:p@a.example:1,b.example:2/db?target_session_attrs=read-write", host: "a.example", listen: "a.example", fallbacks: 1, tls: true},
		{url: "postgres://u:p@a.example/db?sslmode=disable&listen=b.example:5432", host: "a.example", listen: "b.example"},
		{url: "postgres://u:p@/db?host=db.example", host: "db.example", listen: "db.example", tls: true},
		{url: "postgres://u:p@localhost/db?host=db.example", host: "db.example", listen: "db.example", tls: true},
		{url: "postgres://u:p@localhost/db?host=127.0.0.1", host: "127.0.0.1", listen: "127.0.0.1"},
		{url: "postgres://u:p@/db?host=/run/postgresql", host: "/run/postgresql", listen: "/run/postgresql"},
	} {
		pool, direct, err := parse(test.url, "junction")
		if err != nil {
			t.Errorf("%s: %v", test.url, err)
			continue
		}
		c := pool.ConnConfig
		tls := c.TLSConfig != nil && !c.TLSConfig.InsecureSkipVerify
		if c.Host != test.host || direct.Host != test.listen || tls != test.tls || len(c.Fallbacks) < test.fallbacks ||
			c.RuntimeParams["application_name"] != "junction" || c.Password != "p" || direct.Password != "p" {
			t.Errorf("%s: got %s, %s, TLS %v, %d fallbacks, %v", test.url, c.Host, direct.Host, tls, len(c.Fallbacks), c.RuntimeParams)
		}
		for _, other := range c.Fallbacks {
			if test.tls && (other.TLSConfig == nil || other.TLSConfig.InsecureSkipVerify) {
				t.Errorf("%s: %s may be without TLS", test.url, other.Host)
			}
		}
	}
}

// The connection for hints has a host of its own, and needs TLS if that is another machine.
func TestListenOfAnotherMachineNeedsTLS(t *testing.T) {
	_, direct, err := parse("postgres://u:p@localhost:6432/db?listen=db.example:5432", "junction")
	if err != nil {
		t.Fatal(err)
	}
	if c := direct.TLSConfig; c == nil || c.InsecureSkipVerify || len(direct.Fallbacks) > 0 {
		t.Errorf("TLS %v, %d fallbacks", c, len(direct.Fallbacks))
	}
}

func TestWrongURLsKeepTheirPassword(t *testing.T) {
	for url, want := range map[string]string{
		"postgres:hunter2":                             "expected postgres://",
		"mysql://u:hunter2@a/db":                       "expected postgres://",
		"postgres://u:hunter2@a:b:c/db":                "cannot be read",
		"postgres://u:hunt%zzer2@a/db":                 "cannot be read",
		"postgres://u:hunter2@a/db?sslmode=hunter2":    "cannot be read",
		"postgres://u:hunter2@a/db?x=%zz":              "cannot be read",
		"postgres://u:hunter2@a/db?sslrootcert=/no/x":  "cannot be read",
		"postgres://u:hunter2@a/db?listen=hunter2:x":   "listen is HOST:PORT",
		"postgres://u:hunter2@localhost,b:hunter2/db":  "cannot be read",
		"postgres://u:p/hunter2@a/db":                  "cannot be read",
		"postgres://u:hunter2@a/db?connect_timeout=-x": "cannot be read",
	} {
		_, _, err := parse(url, "junction")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %q", url, err, want)
		}
	}
}

func TestLocalHosts(t *testing.T) {
	for hosts, want := range map[string]bool{
		"localhost": true, "localhost:5432": true, "127.0.0.1:1,[::1]:2": true, "[::1]": true,
		"db": false, "localhost.example": false, "127.0.0.1,db:5432": false, "10.0.0.1": false, "[fe80::1]:5432": false,
	} {
		c, err := pgx.ParseConfig("postgres://u:p@" + hosts + "/db?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		if got := local(c); got != want {
			t.Errorf("%q: got %v", hosts, got)
		}
	}
}

func FuzzURL(f *testing.F) {
	f.Add("postgres://u:p@a.example:1,b.example:2/db?target_session_attrs=read-write&listen=c:5")
	f.Add("postgresql://[::1]/?sslmode=disable")
	f.Fuzz(func(t *testing.T, url string) {
		if pool, direct, err := parse(url, "x"); err == nil && (pool == nil || direct == nil) {
			t.Errorf("%q: got nothing", url)
		}
	})
}
