package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/junction-mcp/junction/state"
)

// Append implements [state.Log].
func (s *Store) Append(ctx context.Context, key string, value []byte, w state.Write) (uint64, error) {
	if err := state.Check(key, value); err != nil {
		return 0, err
	}
	if err := state.CheckHold(key, w.Hold); err != nil {
		return 0, err
	}
	if value == nil {
		value = []byte{} // a nil slice would be stored as NULL
	}
	var held bool
	var position *int64
	err := s.row(ctx, "append", true, appendRecord, protected(w.Hold, []byte(key), value, max(w.TTL, 0).Microseconds()), &held, &position)
	switch {
	case err != nil:
		return 0, err
	case !held || position == nil:
		return 0, state.ErrLost
	}
	return uint64(*position), nil
}

// Read implements [state.Log].
func (s *Store) Read(ctx context.Context, key string, after uint64, limit int) ([]state.Record, error) {
	var records []state.Record
	trimmed, exists := int64(0), false
	err := s.try(ctx, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, readRecords, []byte(key), int64(after), max(limit, 0), state.MaxRead)
		if err != nil {
			return err
		}
		var position *int64
		var value []byte
		records, exists = nil, false
		_, err = pgx.ForEachRow(rows, []any{&trimmed, &position, &value}, func() error {
			exists = true
			if position != nil {
				records = append(records, state.Record{Position: uint64(*position), Value: value})
				value = nil
			}
			return nil
		})
		return err
	})
	switch {
	case err != nil:
		return nil, fail("read", false, err)
	case after != 0 && (!exists || after < uint64(trimmed)):
		return nil, state.ErrTrimmed
	}
	return records, nil
}

// Trim implements [state.Log].
func (s *Store) Trim(ctx context.Context, key string, keep state.Keep, hold state.Hold) error {
	if keep.Count < 0 {
		return s.change(ctx, "trim", endLog, key, hold)
	}
	return s.change(ctx, "trim", trimLog, key, hold, keep.Count, keep.Bytes, keep.Age.Microseconds())
}
