package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/junction-mcp/junction/state"
)

const (
	// pollPause is the time between two looks for hints of other processes.
	pollPause = 200 * time.Millisecond
	// hintTime is the time for which a hint stays in the file.
	hintTime = time.Minute
)

// Publish implements [state.Signal].
func (s *Store) Publish(ctx context.Context, topic string) error {
	if err := state.Check(topic, nil); err != nil {
		return err
	}
	err := s.change(ctx, "publish", func(tx *sql.Tx) error {
		now := time.Now()
		count, err := next(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM hints WHERE time <= ?`, now.Add(-hintTime).UnixNano()); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO hints VALUES (?, ?, ?) ON CONFLICT (topic) DO UPDATE SET count = excluded.count, time = excluded.time`,
			[]byte(topic), count, now.UnixNano())
		return err
	})
	if err == nil {
		s.topics.Hint(topic)
	}
	return err
}

// Subscribe implements [state.Signal]. Hints of other processes arrive within [pollPause].
func (s *Store) Subscribe(ctx context.Context, topic string) (<-chan struct{}, error) {
	if err := state.Check(topic, nil); err != nil {
		return nil, err
	}
	if err := s.startPolling(ctx); err != nil {
		return nil, err
	}
	return s.topics.Subscribe(ctx, topic)
}

// startPolling starts the goroutine that looks for hints, unless it runs.
func (s *Store) startPolling(ctx context.Context) error {
	s.poll.Lock()
	defer s.poll.Unlock()
	if s.stop != nil {
		return nil
	}
	var seen int64
	if err := s.file.DB.QueryRowContext(ctx, `SELECT count FROM given`).Scan(&seen); err != nil {
		return s.fail(s.file.Fail("subscribe", err))
	}
	polling, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.polled.Go(func() {
		tick := time.NewTicker(pollPause)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				seen = s.look(polling, seen)
			case <-polling.Done():
				return
			}
		}
	})
	return nil
}

// look passes on the hints after seen, and returns the last one. After an error the next call finds
// the same hints.
func (s *Store) look(ctx context.Context, seen int64) int64 {
	rows, err := s.file.DB.QueryContext(ctx, `SELECT topic, count FROM hints WHERE count > ? ORDER BY count`, seen)
	if err != nil {
		return seen
	}
	defer rows.Close()
	last := seen
	for rows.Next() {
		var topic []byte
		var count int64
		if rows.Scan(&topic, &count) == nil {
			s.topics.Hint(string(topic))
			last = max(last, count)
		}
	}
	return last
}
