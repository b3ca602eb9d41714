package postgres

import (
	"errors"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// connectTimeout is the time limit for a connection to one host.
	connectTimeout = 2 * time.Second
	// maxConnections is the largest number of connections of a Store, in addition to the one that
	// receives hints.
	maxConnections = 10
)

// parse reads a URL into the configuration of the pool and that of the connection for hints. Its
// errors contain nothing of the URL, as that may have a password.
func parse(text, client string) (*pgxpool.Config, *pgx.ConnConfig, error) {
	base, query, _ := strings.Cut(text, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, nil, errors.New("the parameters cannot be read; escape special characters")
	}
	scheme, rest, found := strings.Cut(base, "://")
	if !found || scheme != "postgres" && scheme != "postgresql" {
		return nil, nil, errors.New("expected postgres://HOST/DATABASE")
	}
	authority, path, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@') + 1
	listen := values.Get("listen")
	values.Del("listen")
	if !values.Has("application_name") {
		values.Set("application_name", client)
	}
	read := func(hosts string) (*pgxpool.Config, error) {
		own := maps.Clone(values)
		c, err := pgxpool.ParseConfig(scheme + "://" + authority[:at] + hosts + "/" + path + "?" + own.Encode())
		if err == nil && !own.Has("sslmode") && !local(c.ConnConfig) { // also if a parameter or a variable names the host
			own.Set("sslmode", "verify-full")
			c, err = pgxpool.ParseConfig(scheme + "://" + authority[:at] + hosts + "/" + path + "?" + own.Encode())
		}
		if err != nil {
			return nil, errors.New("it cannot be read; escape special characters of the user and the password, and see PostgreSQL's connection URIs")
		}
		c.ConnConfig.ConnectTimeout = connectTimeout
		// Statements without names pass PgBouncer in transaction mode.
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		c.MaxConns = maxConnections
		c.PingTimeout = connectTimeout
		return c, nil
	}
	pool, err := read(authority[at:])
	if err != nil {
		return nil, nil, err
	}
	direct := pool
	if listen != "" {
		if direct, err = read(listen); err != nil {
			return nil, nil, errors.New("listen is HOST:PORT")
		}
	}
	return pool, direct.ConnConfig.Copy(), nil
}

// local reports whether all hosts are this machine.
func local(c *pgx.ConnConfig) bool {
	hosts := []string{c.Host}
	for _, other := range c.Fallbacks {
		hosts = append(hosts, other.Host)
	}
	return !slices.ContainsFunc(hosts, func(host string) bool {
		address, err := netip.ParseAddr(host)
		isSocket := strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@")
		return !isSocket && host != "localhost" && (err != nil || !address.IsLoopback())
	})
}
