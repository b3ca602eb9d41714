package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/temoto/robotstxt"
)

const (
	maxRobots  = 500 << 10 // bytes of a robots.txt; RFC 9309 requires at least this many
	robotsTime = time.Hour // age at which a robots.txt is read again
	maxSites   = 1_000     // number of sites whose rules are stored
)

// robots stores the rules of sites for programs.
type robots struct {
	mu  sync.Mutex
	all map[string]*site
}

type site struct {
	rules *robotstxt.RobotsData
	read  time.Time
}

// mayRead returns an error if robots.txt forbids the page to programs (RFC 9309).
func (f *server) mayRead(ctx context.Context, page *url.URL) error {
	if f.options.IgnoreRobots {
		return nil
	}
	rules, err := f.rulesOf(ctx, page)
	if err != nil {
		return err
	}
	path := cmp.Or(page.EscapedPath(), "/")
	if page.RawQuery != "" {
		path += "?" + page.RawQuery
	}
	if !rules.TestAgent(path, f.options.Agent) {
		return fmt.Errorf("robots.txt of %s excludes %s for programs; the user can read it in a browser", page.Host, page.Path)
	}
	return nil
}

// rulesOf returns the rules of a page's site. A site without a robots.txt allows everything. If
// robots.txt cannot be read, rulesOf returns an error, and the page counts as forbidden.
func (f *server) rulesOf(ctx context.Context, page *url.URL) (*robotstxt.RobotsData, error) {
	origin := page.Scheme + "://" + page.Host
	f.robots.mu.Lock()
	known := f.robots.all[origin]
	f.robots.mu.Unlock()
	if known != nil && time.Since(known.read) < robotsTime {
		return known.rules, nil
	}
	_, _, text, err := f.get(ctx, &url.URL{Scheme: page.Scheme, Host: page.Host, Path: "/robots.txt"}, maxRobots)
	status := http.StatusOK
	if failed := new(statusError); errors.As(err, &failed) {
		status = failed.status
	} else if err != nil {
		return nil, fmt.Errorf("cannot check robots.txt of %s: %w", page.Host, err)
	}
	rules, err := robotstxt.FromStatusAndBytes(status, text)
	if err != nil {
		return nil, fmt.Errorf("robots.txt of %s: %w", page.Host, err)
	}
	f.robots.mu.Lock()
	defer f.robots.mu.Unlock()
	if f.robots.all == nil || len(f.robots.all) >= maxSites {
		f.robots.all = map[string]*site{}
	}
	f.robots.all[origin] = &site{rules, time.Now()}
	return rules, nil
}
