package memory

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

type entitiesIn struct {
	Entities []Entity `json:"entities"`
}

type relationsIn struct {
	Relations []Relation `json:"relations"`
}

type observationsIn struct {
	Observations []Observed `json:"observations"`
}

type deletionsIn struct {
	Deletions []struct {
		EntityName   string   `json:"entityName"`
		Observations []string `json:"observations"`
	} `json:"deletions"`
}

type namesIn struct {
	EntityNames []string `json:"entityNames"`
}

type openIn struct {
	Names []string `json:"names"`
}

type searchIn struct {
	// Query holds words; an entity must have all of them.
	Query string `json:"query"`
}

// Changed holds the number of entries that a call added or removed.
type Changed struct {
	Changed int `json:"changed"`
}

func (m *Memory) createEntities(ctx context.Context, in entitiesIn) (entitiesIn, error) {
	made := entitiesIn{Entities: []Entity{}}
	err := m.change(ctx, len(in.Entities), func(tx *sql.Tx) error {
		for _, e := range in.Entities {
			if err := named("name", e.Name); err != nil {
				return err
			}
			if err := named("entityType of "+e.Name, e.EntityType); err != nil {
				return err
			}
			result, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO entities VALUES (?, ?)`, e.Name, e.EntityType)
			if err != nil {
				return err
			}
			added, err := observe(ctx, tx, e.Name, e.Observations)
			if err != nil {
				return err
			}
			if n, _ := result.RowsAffected(); n > 0 || len(added) > 0 {
				made.Entities = append(made.Entities, Entity{e.Name, e.EntityType, added})
			}
		}
		return nil
	})
	return made, err
}

func (m *Memory) createRelations(ctx context.Context, in relationsIn) (relationsIn, error) {
	made := relationsIn{Relations: []Relation{}}
	err := m.change(ctx, len(in.Relations), func(tx *sql.Tx) error {
		for _, r := range in.Relations {
			if err := named("relationType", r.RelationType); err != nil {
				return err
			}
			for _, end := range []string{r.From, r.To} {
				if err := exists(ctx, tx, end); err != nil {
					return err
				}
			}
			result, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO relations VALUES (?, ?, ?)`, r.From, r.To, r.RelationType)
			if err != nil {
				return err
			}
			if n, _ := result.RowsAffected(); n > 0 {
				made.Relations = append(made.Relations, r)
			}
		}
		return nil
	})
	return made, err
}

// Added holds the new observations, by entity.
type Added struct {
	Results []Observed `json:"results"`
}

func (m *Memory) addObservations(ctx context.Context, in observationsIn) (Added, error) {
	made := Added{Results: []Observed{}}
	err := m.change(ctx, len(in.Observations), func(tx *sql.Tx) error {
		for _, o := range in.Observations {
			if err := exists(ctx, tx, o.EntityName); err != nil {
				return err
			}
			added, err := observe(ctx, tx, o.EntityName, o.Contents)
			if err != nil {
				return err
			}
			made.Results = append(made.Results, Observed{o.EntityName, added})
		}
		return nil
	})
	return made, err
}

func (m *Memory) deleteEntities(ctx context.Context, in namesIn) (Changed, error) {
	var rows [][]any
	for _, name := range in.EntityNames {
		rows = append(rows, []any{name})
	}
	return m.delete(ctx, `DELETE FROM entities WHERE name = ?`, rows)
}

func (m *Memory) deleteObservations(ctx context.Context, in deletionsIn) (Changed, error) {
	var rows [][]any
	for _, d := range in.Deletions {
		for _, text := range d.Observations {
			rows = append(rows, []any{d.EntityName, text})
		}
	}
	return m.delete(ctx, `DELETE FROM observations WHERE entity = ? AND text = ?`, rows)
}

func (m *Memory) deleteRelations(ctx context.Context, in relationsIn) (Changed, error) {
	var rows [][]any
	for _, r := range in.Relations {
		rows = append(rows, []any{r.From, r.To, r.RelationType})
	}
	return m.delete(ctx, `DELETE FROM relations WHERE source = ? AND target = ? AND kind = ?`, rows)
}

func (m *Memory) delete(ctx context.Context, statement string, rows [][]any) (done Changed, err error) {
	err = m.change(ctx, len(rows), func(tx *sql.Tx) error {
		for _, row := range rows {
			result, err := tx.ExecContext(ctx, statement, row...)
			if err != nil {
				return err
			}
			n, _ := result.RowsAffected()
			done.Changed += int(n)
		}
		return nil
	})
	return done, err
}

func (m *Memory) search(ctx context.Context, in searchIn) (Graph, error) {
	where, arguments := "1 = 1", []any{}
	for _, word := range strings.Fields(in.Query) {
		pattern := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(word) + "%"
		where += ` AND (name LIKE ? ESCAPE '\' OR kind LIKE ? ESCAPE '\' OR EXISTS (SELECT 1 FROM observations WHERE entity = name AND text LIKE ? ESCAPE '\'))`
		arguments = append(arguments, pattern, pattern, pattern)
		if len(arguments) > 60 {
			break // further words are ignored
		}
	}
	return m.graph(ctx, where, arguments)
}

func (m *Memory) open(ctx context.Context, in openIn) (Graph, error) {
	names := in.Names[:min(len(in.Names), maxFound)]
	arguments := make([]any, len(names))
	for i, name := range names {
		arguments[i] = name
	}
	return m.graph(ctx, "name IN (?"+strings.Repeat(", ?", max(len(names), 1)-1)+")", append(arguments, make([]any, max(1-len(names), 0))...))
}

func (m *Memory) read(ctx context.Context, _ struct{}) (Graph, error) {
	return m.graph(ctx, "1 = 1", nil)
}

// graph returns the entities that satisfy a condition, the newest first, with the relations between
// them.
func (m *Memory) graph(ctx context.Context, where string, arguments []any) (Graph, error) {
	g := Graph{Entities: []Entity{}, Relations: []Relation{}}
	tx, err := m.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // one transaction, so that all queries see the same state
	if err != nil {
		return g, err
	}
	defer tx.Rollback()
	var all int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM entities WHERE "+where, arguments...).Scan(&all); err != nil {
		return g, err
	}
	names, err := collect(ctx, tx, "SELECT name, kind, '' FROM entities WHERE "+where+" ORDER BY rowid DESC LIMIT ?", append(slices.Clone(arguments), maxFound))
	if err != nil {
		return g, err
	}
	size := 0
	given := map[string]bool{}
	for _, row := range names {
		e := Entity{Name: row[0], EntityType: row[1], Observations: []string{}}
		texts, err := collect(ctx, tx, "SELECT text, '', '' FROM observations WHERE entity = ? ORDER BY rowid", []any{e.Name})
		if err != nil {
			return g, err
		}
		for _, text := range texts {
			size += len(text[0])
			e.Observations = append(e.Observations, text[0])
		}
		if size > maxBytes && len(g.Entities) > 0 {
			break
		}
		given[e.Name] = true
		g.Entities = append(g.Entities, e)
	}
	g.More = all - len(g.Entities)
	for _, e := range g.Entities {
		relations, err := collect(ctx, tx, "SELECT source, target, kind FROM relations WHERE source = ? ORDER BY rowid", []any{e.Name})
		if err != nil {
			return g, err
		}
		for _, r := range relations {
			if given[r[1]] {
				g.Relations = append(g.Relations, Relation{From: r[0], To: r[1], RelationType: r[2]})
			}
		}
	}
	return g, nil
}

// collect returns the rows of a query with three text columns.
func collect(ctx context.Context, tx *sql.Tx, query string, arguments []any) (all [][3]string, err error) {
	rows, err := tx.QueryContext(ctx, query, arguments...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row [3]string
		if err := rows.Scan(&row[0], &row[1], &row[2]); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
