package integration

import (
	"os"
	"testing"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/statetest"
)

// TestState runs the tests of all stores on servers. Each test has a store of its own there.
func TestState(t *testing.T) {
	t.Parallel()
	postgres := func(t *testing.T, certificate ...string) (p postgresFolder, database func(t *testing.T) string) {
		_, p = runningPostgres(t, certificate...)
		return p, func(t *testing.T) string {
			name := storeName()
			run(t, os.Environ(), append(p.owner, "--command=CREATE DATABASE "+name)...)
			return name
		}
	}
	for name, urls := range map[string]func(t *testing.T) (url func(t *testing.T) string){
		"Redis with TLS and ACL": func(t *testing.T) func(*testing.T) string {
			ca, cert, key := tlsFiles(t)
			s := redisOf(t, "--tls-port", "", "--tls-ca-cert-file", ca, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "yes",
				"--user", "default", "off", "--user", "ann", "on", ">p@ss/word", "resetkeys", "~{t*", "resetchannels", "&t*/hints",
				"-@all", "+@read", "+@write", "+@scripting", "+@pubsub", "+@connection", "+time", "+info")
			return func(*testing.T) string {
				return "rediss://ann:p%40ss%2Fword@" + s.address + "?prefix=" + storeName() + "&ca=" + ca + "&cert=" + cert + "&key=" + key
			}
		},
		"Valkey": func(t *testing.T) func(*testing.T) string {
			s := valkeyOf(t)
			return func(*testing.T) string { return "valkey://" + s.address + "/3?prefix=" + storeName() }
		},
		"Valkey Cluster": func(t *testing.T) func(*testing.T) string {
			url := valkeyCluster(t)
			return func(*testing.T) string { return url + "&prefix=" + storeName() }
		},
		"PostgreSQL with TLS": func(t *testing.T) func(*testing.T) string {
			ca, cert, key := tlsFiles(t)
			p, database := postgres(t, cert, key)
			return func(t *testing.T) string {
				return "postgres://owner:owning@" + p.address + "/" + database(t) + "?sslmode=verify-full&sslrootcert=" + ca
			}
		},
		"PostgreSQL behind PgBouncer": func(t *testing.T) func(*testing.T) string {
			p, database := postgres(t)
			address := bouncerOf(t, p)
			return func(t *testing.T) string {
				return "postgres://owner:owning@" + address + "/" + database(t) + "?sslmode=disable&listen=" + p.address
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := urls(t)
			statetest.Run(t, statetest.Driver{Served: true, Begin: func(t *testing.T) func() state.Shared { return viewsOf(t, url(t)) }})
		})
	}
}
