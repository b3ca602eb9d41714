// Package dial opens the store that a URL names.
package dial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/postgres"
	"github.com/junction-mcp/junction/state/sqlite"
	"github.com/junction-mcp/junction/state/valkey"
)

// ErrURL means that a URL names no store.
var ErrURL = errors.New("not the URL of a store")

// Options configure a store.
type Options struct {
	// Client is the name that the store's server shows for this program; default "junction".
	Client string
}

// schemes maps the schemes of URLs to their stores. An opener receives the whole URL.
var schemes = map[string]func(ctx context.Context, url string, o Options) (state.Shared, error){
	"memory": func(context.Context, string, Options) (state.Shared, error) { return state.NewMemory(0), nil },
	"sqlite": openSQLite,
	"valkey": openValkey, "valkeys": openValkey, "redis": openValkey, "rediss": openValkey,
	"postgres": openPostgres, "postgresql": openPostgres,
}

// Open opens the store of a URL. Errors contain no password.
//
//	memory:       this process
//	sqlite:PATH   a file, for the processes of one machine
//	valkey://…    servers of Valkey or Redis, as package state/valkey describes; valkeys with TLS
//	postgres://…  PostgreSQL, as package state/postgres describes
func Open(ctx context.Context, url string, o Options) (state.Shared, error) {
	scheme, _, _ := strings.Cut(url, ":")
	open, known := schemes[scheme]
	if !known {
		return nil, fmt.Errorf("%w: its scheme is none of %s", ErrURL, strings.Join(slices.Sorted(maps.Keys(schemes)), ", "))
	}
	if o.Client == "" {
		o.Client = "junction"
	}
	return open(ctx, url, o)
}

func openSQLite(ctx context.Context, url string, _ Options) (state.Shared, error) {
	_, path, _ := strings.Cut(url, ":")
	if path == "" || strings.HasPrefix(path, "//") {
		return nil, fmt.Errorf("%w: a file is sqlite:PATH, such as sqlite:/var/lib/junction/state.db", ErrURL)
	}
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return store, nil
}

func openPostgres(ctx context.Context, url string, o Options) (state.Shared, error) {
	store, err := postgres.Open(ctx, url, o.Client)
	if err != nil {
		return nil, err
	}
	return store, nil
}

func openValkey(ctx context.Context, url string, o Options) (state.Shared, error) {
	store, err := valkey.Open(ctx, url, o.Client)
	if err != nil {
		return nil, err
	}
	return store, nil
}
