package valkey

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/internal/prefix"
	"github.com/junction-mcp/junction/state/internal/topics"
)

const (
	// dialTimeout is the time limit for a connection to the server.
	dialTimeout = 2 * time.Second
	// callTimeout is the time limit for an operation.
	callTimeout = 5 * time.Second
	// topologyPause is the time between two questions to Sentinels, or to a cluster, about its
	// servers.
	topologyPause = 2 * time.Second
	// maxChunk is the largest number of entries or records that one script reads.
	maxChunk = 256
	// maxGroups is the number of groups that a Store remembers to have put into the list of groups.
	maxGroups = 1024
)

// A Store is a [state.Shared] store in Valkey or Redis.
type Store struct {
	client rueidis.Client
	prefix string
	topics topics.Topics

	mu        sync.Mutex
	groups    map[string]bool // those in the list of groups
	listening *listener       // nil until the first subscription
	closed    bool
}

// Open connects to the servers of a URL; client is the name that they show for the connections.
// Errors contain no password.
func Open(ctx context.Context, url, client string) (*Store, error) {
	p, err := parse(url)
	if err != nil {
		return nil, fmt.Errorf("the URL of the store: %w", err)
	}
	o := p.client
	o.ClientName, o.Sentinel.ClientName = client, client
	o.Dialer = net.Dialer{Timeout: dialTimeout, KeepAlive: time.Second}
	o.ConnWriteTimeout = callTimeout
	o.DisableRetry, o.DisableCache = true, true
	o.AlwaysPipelining = true // notices at once that a server closes a connection
	o.Sentinel.TopologyRefreshInterval = topologyPause
	o.ClusterOption.ShardsRefreshInterval = topologyPause
	c, err := rueidis.NewClient(o)
	if err != nil {
		return nil, fail("connect", false, err)
	}
	s := &Store{client: c, prefix: p.prefix, groups: map[string]bool{}}
	if err := s.checkServer(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return s, nil
}

// checkServer returns an error if the server may remove keys when its memory is full. A server that
// does not say passes.
func (s *Store) checkServer(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, callTimeout)
	defer done()
	info, err := s.client.Do(ctx, s.client.B().Info().Section("memory").Build()).ToString()
	if _, refused := rueidis.IsRedisErr(err); refused {
		return nil
	}
	if err != nil {
		return fail("connect", false, err)
	}
	if strings.Contains(info, "maxmemory:0\r") || !strings.Contains(info, "maxmemory_policy:") || strings.Contains(info, "maxmemory_policy:noeviction") {
		return nil
	}
	return errors.New("valkey: the server removes keys when its memory is full; set its maxmemory-policy to noeviction")
}

// Close ends all subscriptions and closes the connections.
func (s *Store) Close() error {
	s.topics.Close()
	s.mu.Lock()
	s.closed = true
	listening := s.listening
	s.mu.Unlock()
	if listening != nil {
		listening.close()
	}
	s.client.Close()
	return nil
}

// base returns the beginning of all keys of a group.
func (s *Store) base(group string) string { return "{" + s.prefix + "/" + url.QueryEscape(group) + "}" }

// The ends of the names of keys; see scripts.go.
const (
	clockKey  = ":clock"
	indexKey  = ":index"
	expiryKey = ":expiry"
	valueKey  = ":v:"
	leaseKey  = ":l:"
	streamKey = ":s:"
	headKey   = ":p:"
)

// leased returns the keys of a script that is protected by a lease, if that has a name.
func leased(hold state.Hold, keys ...string) []string {
	if hold.Name == "" {
		return keys
	}
	return append(keys, leaseKey+hold.Name)
}

// run runs a script on keys of a group, of which it gets the ends, and returns its reply.
func (s *Store) run(ctx context.Context, what string, writes bool, script *rueidis.Lua, group string, keys []string, arguments ...string) (rueidis.RedisMessage, error) {
	ctx, done := context.WithTimeout(ctx, callTimeout)
	defer done()
	base := s.base(group)
	for i := range keys {
		keys[i] = base + keys[i]
	}
	reply, err := script.Exec(ctx, s.client, keys, append(arguments, base)).ToMessage()
	if err != nil {
		return reply, fail(what, writes, err)
	}
	if word, err := reply.ToString(); err == nil {
		switch word {
		case replyLost:
			return reply, state.ErrLost
		case replyConflict:
			return reply, state.ErrConflict
		case replyHeld:
			return reply, state.ErrHeld
		case replyTrimmed:
			return reply, state.ErrTrimmed
		}
	}
	return reply, nil
}

// write runs a script that changes the key of a value or a log, and is protected by a lease.
func (s *Store) write(ctx context.Context, what string, script *rueidis.Lua, key string, hold state.Hold, keys []string, arguments ...string) (string, error) {
	if err := state.CheckHold(key, hold); err != nil {
		return "", err
	}
	reply, err := s.run(ctx, what, true, script, state.Group(key), leased(hold, keys...), arguments...)
	if err != nil {
		return "", err
	}
	return reply.ToString()
}

// token returns the arguments that scripts have for a lease.
func token(hold state.Hold) (name, token string) {
	return hold.Name, strconv.FormatUint(hold.Token, 10)
}

// ttl returns a time to live in milliseconds, rounded up, or "0".
func ttl(d time.Duration) string {
	return strconv.FormatInt(int64((max(d, 0)+time.Millisecond-1)/time.Millisecond), 10)
}

// Get implements [state.KV].
func (s *Store) Get(ctx context.Context, key string) (state.Entry, error) {
	ctx, done := context.WithTimeout(ctx, callTimeout)
	defer done()
	stored, err := s.client.Do(ctx, s.client.B().Get().Key(s.base(state.Group(key))+valueKey+key).Build()).AsBytes()
	if rueidis.IsRedisNil(err) {
		return state.Entry{}, state.ErrNotFound
	}
	if err != nil {
		return state.Entry{}, fail("get", false, err)
	}
	return entry(key, stored)
}

// versionLen is the number of bytes of a version before a value.
const versionLen = 16

func entry(key string, stored []byte) (state.Entry, error) {
	if len(stored) < versionLen {
		return state.Entry{}, errors.New("valkey: another program has written a key of this store; give the URL another prefix")
	}
	return state.Entry{Key: key, Value: stored[versionLen:], Version: state.Version(stored[:versionLen])}, nil
}

// Put implements [state.KV].
func (s *Store) Put(ctx context.Context, key string, value []byte, w state.Write) (state.Version, error) {
	return s.put(ctx, "put", key, "any", value, w)
}

// CompareAndSwap implements [state.KV].
func (s *Store) CompareAndSwap(ctx context.Context, key string, old state.Version, value []byte, w state.Write) (state.Version, error) {
	return s.put(ctx, "compare and swap", key, string(old), value, w)
}

func (s *Store) put(ctx context.Context, what, key, old string, value []byte, w state.Write) (state.Version, error) {
	if err := state.Check(key, value); err != nil {
		return "", err
	}
	if err := s.listGroup(ctx, state.Group(key)); err != nil {
		return "", err
	}
	name, number := token(w.Hold)
	version, err := s.write(ctx, what, putScript, key, w.Hold, []string{valueKey + key, clockKey, indexKey, expiryKey}, key, rueidis.BinaryString(value), ttl(w.TTL), name, number, old)
	return state.Version(version), err
}

// Delete implements [state.KV].
func (s *Store) Delete(ctx context.Context, key string, hold state.Hold) error {
	name, number := token(hold)
	_, err := s.write(ctx, "delete", deleteScript, key, hold, []string{valueKey + key, indexKey, expiryKey}, key, name, number)
	return err
}

// listGroup puts a group into the list of groups, in which [Store.List] finds it.
func (s *Store) listGroup(ctx context.Context, group string) error {
	s.mu.Lock()
	known := s.groups[group]
	s.mu.Unlock()
	if known {
		return nil
	}
	ctx, done := context.WithTimeout(ctx, callTimeout)
	defer done()
	err := s.client.Do(ctx, s.client.B().Zadd().Key("{"+s.prefix+"/}:groups").ScoreMember().ScoreMember(0, group).Build()).Error()
	if err != nil {
		// Nothing that the caller wants was written.
		return fail("list a group", false, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.groups) >= maxGroups {
		clear(s.groups)
	}
	s.groups[group] = true
	return nil
}

// List implements [state.KV]. Without a slash in the prefix it reads several groups, at slightly
// different times.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]state.Entry, error) {
	if limit <= 0 {
		return nil, nil
	}
	groups := []string{state.Group(prefix)}
	if !strings.Contains(prefix, "/") {
		var err error
		if groups, err = s.groupsOf(ctx, prefix); err != nil {
			return nil, err
		}
	}
	var entries []state.Entry
	for _, group := range groups {
		found, err := s.listIn(ctx, group, prefix, after, limit)
		if err != nil {
			return nil, err
		}
		entries = append(entries, found...)
		if len(groups) > 1 {
			slices.SortFunc(entries, func(a, b state.Entry) int { return strings.Compare(a.Key, b.Key) })
			entries = entries[:min(limit, len(entries))]
		}
	}
	return entries, nil
}

// groupsOf returns the groups whose keys may have a prefix that contains no slash.
func (s *Store) groupsOf(ctx context.Context, prefix string) ([]string, error) {
	ctx, done := context.WithTimeout(ctx, callTimeout)
	defer done()
	groups, err := s.client.Do(ctx, s.client.B().Zrange().Key("{"+s.prefix+"/}:groups").Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return nil, fail("list", false, err)
	}
	return slices.DeleteFunc(groups, func(group string) bool { return group != "" && !strings.HasPrefix(group, prefix) }), nil
}

// listIn lists the entries of one group.
func (s *Store) listIn(ctx context.Context, group, begin, after string, limit int) ([]state.Entry, error) {
	from, to := "["+begin, "+"
	if after >= begin {
		from = "(" + after
	}
	if begin == "" && after == "" {
		from = "-"
	}
	if end := prefix.End(begin); end != "" {
		to = "(" + end
	}
	var entries []state.Entry
	for len(entries) < limit {
		reply, err := s.run(ctx, "list", false, listScript, group, []string{indexKey, expiryKey}, from, to, strconv.Itoa(min(limit-len(entries), maxChunk)), strconv.Itoa(state.MaxRead))
		if err != nil {
			return nil, err
		}
		found, err := reply.AsStrSlice()
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("valkey: list: an unexpected reply: %w", err)
		}
		for pair := range slices.Chunk(found[1:], 2) {
			e, err := entry(pair[0], []byte(pair[1]))
			if err != nil {
				return nil, err
			}
			entries = append(entries, e)
		}
		if found[0] == "" {
			break
		}
		from = "(" + found[0]
	}
	return entries, nil
}

// Acquire implements [state.Lease].
func (s *Store) Acquire(ctx context.Context, name string, d time.Duration) (state.Hold, error) {
	if err := state.Check(name, nil); err != nil {
		return state.Hold{}, err
	}
	reply, err := s.run(ctx, "acquire", true, acquireScript, state.Group(name), []string{leaseKey + name, clockKey}, name, ttl(max(d, time.Millisecond)))
	if err != nil {
		return state.Hold{}, err
	}
	text, err := reply.ToString()
	if err != nil {
		return state.Hold{}, fmt.Errorf("valkey: acquire: %w", err)
	}
	number, err := strconv.ParseUint(text, 10, 64)
	return state.Hold{Name: name, Token: number}, err
}

// Renew implements [state.Lease].
func (s *Store) Renew(ctx context.Context, hold state.Hold, d time.Duration) error {
	name, number := token(hold)
	_, err := s.run(ctx, "renew", true, renewScript, state.Group(name), []string{leaseKey + name}, name, number, ttl(max(d, time.Millisecond)))
	return err
}

// Release implements [state.Lease].
func (s *Store) Release(ctx context.Context, hold state.Hold) error {
	name, number := token(hold)
	_, err := s.run(ctx, "release", true, releaseScript, state.Group(name), []string{leaseKey + name}, name, number)
	return err
}

// Now implements [state.Clock].
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	ctx, done := context.WithTimeout(ctx, callTimeout)
	defer done()
	parts, err := s.client.Do(ctx, s.client.B().Time().Build()).AsIntSlice()
	if err != nil || len(parts) != 2 {
		return time.Time{}, fail("time", false, err)
	}
	return time.Unix(parts[0], parts[1]*int64(time.Microsecond)), nil
}
