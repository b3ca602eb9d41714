package valkey

import (
	"strings"
	"testing"
)

func TestURLs(t *testing.T) {
	for _, test := range []struct {
		url, addresses, prefix, user, password, sentinel string
		database                                         int
		single, tls                                      bool
	}{
		{url: "valkey://localhost", addresses: "localhost:6379", prefix: "junction", single: true},
		{url: "redis://ann:p%40s%2Fs@db:7000/3?prefix=a", addresses: "db:7000", prefix: "a", user: "ann", password: "p@s/s", database: 3, single: true},
		{url: "rediss://:secret@[::1]:7000/", addresses: "[::1]:7000", prefix: "junction", password: "secret", single: true, tls: true},
		{url: "valkeys://a,b:7,[fe80::1]?cluster=true", addresses: "a:6379 b:7 [fe80::1]:6379", prefix: "junction", tls: true},
		{url: "valkey://u:p@a:26379,b:26379/1?sentinel=main&sentinelPassword=x", addresses: "a:26379 b:26379", prefix: "junction", user: "u", password: "p", sentinel: "main", database: 1},
	} {
		p, err := parse(test.url)
		if err != nil {
			t.Errorf("%s: %v", test.url, err)
			continue
		}
		o := p.client
		if got := strings.Join(o.InitAddress, " "); got != test.addresses || p.prefix != test.prefix || o.Username != test.user || o.Password != test.password ||
			o.Sentinel.MasterSet != test.sentinel || o.SelectDB != test.database || o.ForceSingleClient != test.single || (o.TLSConfig != nil) != test.tls {
			t.Errorf("%s: got %s, %+v", test.url, got, p)
		}
	}
}

func TestWrongURLsKeepTheirPassword(t *testing.T) {
	for url, want := range map[string]string{
		"valkey:hunter2":                                        "SCHEME://HOST",
		"valkey://u:hunter2@":                                   "a host is",
		"valkey://u:hunter2@a:0":                                "a host is",
		"valkey://u:hunter2@a:b:c":                              "a host is",
		"valkey://u:hunter2@a,b":                                "sentinel or cluster",
		"valkey://u:hunter2@a/x":                                "number of a database",
		"valkey://u:hunter2@a/-1":                               "number of a database",
		"valkey://u:hunter2@a/1?cluster=true":                   "only the database 0",
		"valkey://u:hunter2@a?cluster=hunter2":                  "true or false",
		"valkey://u:hunter2@a?pass=hunter2":                     `"pass" is unknown`,
		"valkey://u:hunter2@a?prefix=a&prefix=b":                "there twice",
		"valkey://u:hunter2@a?prefix=%7B":                       "prefix has",
		"valkey://u:hunter2@a?ca=/x":                            "valkeys or rediss",
		"valkeys://u:hunter2@a?ca=/no/such/file":                "no such file",
		"valkey://u:%zzhunter2@a":                               "escape special characters",
		"valkey://u:hunter2@a?prefix=%zzhunter2":                "escape special characters",
		"valkeys://u:hunter2@a?cert=/no/such&key=/no/such":      "cert and key",
		"valkey://u:hunter2@a#hunter2":                          "escape special characters",
		"valkey://u:p#hunter2@a":                                "a host is",
		"valkey://" + strings.Repeat("hunter2", 100) + "@a b:1": "a host is",
	} {
		_, err := parse(url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %q", url, err, want)
		}
	}
}

func FuzzURL(f *testing.F) {
	f.Add("valkey://u:p@a:26379,b:26379/1?sentinel=main&sentinelPassword=x")
	f.Add("redis://[::1]:7000/3?cluster=true#x")
	f.Fuzz(func(t *testing.T, url string) {
		p, err := parse(url)
		if err == nil && (len(p.client.InitAddress) == 0 || p.prefix == "") {
			t.Errorf("%q: got %+v", url, p)
		}
	})
}
