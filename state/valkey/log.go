package valkey

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/junction-mcp/junction/state"
)

// Append implements [state.Log].
func (s *Store) Append(ctx context.Context, key string, value []byte, w state.Write) (uint64, error) {
	if err := state.Check(key, value); err != nil {
		return 0, err
	}
	name, number := token(w.Hold)
	position, err := s.write(ctx, "append", appendScript, key, w.Hold, []string{streamKey + key, headKey + key, clockKey}, key, rueidis.BinaryString(value), ttl(w.TTL), name, number)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(position, 10, 64)
}

// Read implements [state.Log].
func (s *Store) Read(ctx context.Context, key string, after uint64, limit int) ([]state.Record, error) {
	reply, err := s.run(ctx, "read", false, readScript, state.Group(key), []string{streamKey + key, headKey + key}, key, strconv.FormatUint(after, 10),
		strconv.Itoa(min(max(limit, 0), maxChunk)), strconv.Itoa(state.MaxRead))
	if err != nil {
		return nil, err
	}
	found, err := reply.AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("valkey: read: an unexpected reply: %w", err)
	}
	var records []state.Record
	for pair := range slices.Chunk(found, 2) {
		position, err := strconv.ParseUint(pair[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("valkey: read: %w", err)
		}
		records = append(records, state.Record{Position: position, Value: []byte(pair[1])})
	}
	return records, nil
}

// Trim implements [state.Log].
func (s *Store) Trim(ctx context.Context, key string, keep state.Keep, hold state.Hold) error {
	name, number := token(hold)
	_, err := s.write(ctx, "trim", trimScript, key, hold, []string{streamKey + key, headKey + key}, key, strconv.Itoa(keep.Count), strconv.Itoa(keep.Bytes),
		strconv.FormatInt(keep.Age.Microseconds(), 10), name, number)
	return err
}
