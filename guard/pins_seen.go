package guard

// What servers say is seen as often as they say it, and nobody is asked: so what was only seen of one server, and of all, has a share of
// what there is room for.
const (
	maxSeen      = maxPins - maxPins/4 // definitions of all servers that were only seen
	maxSeenOf    = maxPins / 4         // those of one server
	maxSeenBytes = 8 << 20             // and the bytes that are kept of them
)

// A seenOf is what there is of one server in what was only seen.
type seenOf struct{ count, bytes int }

// see adds a definition that was only seen, in place of one that was seen before. It reports false where there is no room for it.
func (p pinned) see(key pinKey, now pin) bool {
	for _, old := range p.approved[key] {
		if old.Hash == now.Hash {
			return true
		}
	}
	was, replaces := p.seen[key]
	of := p.of[key.Server]
	if of.bytes += now.Definition.size(); replaces {
		of.bytes -= was.Definition.size()
	} else {
		of.count++
	}
	fits := of.count <= maxSeenOf && of.bytes <= maxSeenBytes
	for fits && !replaces && (len(p.seen) >= maxSeen || p.size() >= maxPins) {
		fits = p.spare(of.count)
	}
	if !fits {
		p.unsee(key)
		return false
	}
	p.seen[key], p.of[key.Server] = now, of
	return true
}

// unsee removes a definition that was only seen, if it is there.
func (p pinned) unsee(key pinKey) {
	was, is := p.seen[key]
	if !is {
		return
	}
	delete(p.seen, key)
	of := p.of[key.Server]
	of.count--
	if of.bytes -= was.Definition.size(); of.count > 0 {
		p.of[key.Server] = of
	} else {
		delete(p.of, key.Server)
	}
}

// spare removes a definition that was only seen of the server that has most of them; false if that has no more than some.
func (p pinned) spare(some int) bool {
	most := ""
	for server, of := range p.of {
		if of.count > p.of[most].count {
			most = server
		}
	}
	if p.of[most].count <= some {
		return false
	}
	for key := range p.seen {
		if key.Server == most {
			p.unsee(key)
			return true
		}
	}
	return false
}

// spareServer removes all that was only seen of the server of which most is kept; false if there is none.
func (p pinned) spareServer() bool {
	most := ""
	for server, of := range p.of {
		if of.bytes > p.of[most].bytes {
			most = server
		}
	}
	before := len(p.seen)
	for key := range p.seen {
		if key.Server == most {
			p.unsee(key)
		}
	}
	return len(p.seen) < before
}

// size is how many bytes are kept of a definition.
func (d *Definition) size() int {
	return len(d.Server) + len(d.Name) + len(d.Title) + len(d.Description) + len(d.Text) + len(d.Schema) + len(d.OutputSchema) + len(d.Annotations) + len(d.Icons)
}
