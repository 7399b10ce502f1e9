package freshet

import "slices"

// JoinItemChanges combines consecutive item changes of a source; nil if they cancel out. An
// item that appeared and disappeared again is left out. Items beyond truncated lists are
// counted without being combined.
func JoinItemChanges(steps []*ItemChanges) *ItemChanges {
	steps = slices.DeleteFunc(slices.Clone(steps), func(c *ItemChanges) bool { return c == nil })
	if len(steps) == 0 {
		return nil
	}
	if len(steps) == 1 {
		return steps[0]
	}
	j := itemJoin{paths: map[string]*itemPath{}}
	var all ItemChanges
	for _, c := range steps {
		j.follow(c)
		all.AddedCount += c.AddedCount - len(c.Added)
		all.UpdatedCount += c.UpdatedCount - len(c.Updated)
		all.GoneCount += c.GoneCount - len(c.Gone)
		all.BackCount += c.BackCount - len(c.Back)
	}
	j.tell(&all)
	if all.AddedCount+all.UpdatedCount+all.GoneCount+all.BackCount == 0 {
		return nil
	}
	return &all
}

// An itemJoin follows items through changes.
type itemJoin struct {
	paths map[string]*itemPath
	order []string // of keys, by first mention
}

// An itemPath is what became of one item.
type itemPath struct {
	item     Item
	was, is  bool     // there, before the first change and after the last
	returned bool     // it came first as one that had been there before
	fields   []string // that are other
}

// at returns the path of an item. At the first mention, was says whether it existed before.
func (j *itemJoin) at(key, title string, was bool) *itemPath {
	p := j.paths[key]
	if p == nil {
		p = &itemPath{item: Item{Key: key}, was: was}
		j.paths[key] = p
		j.order = append(j.order, key)
	}
	if title != "" {
		p.item.Title = title
	}
	return p
}

// follow adds one change.
func (j *itemJoin) follow(c *ItemChanges) {
	for _, item := range c.Added {
		p := j.at(item.Key, item.Title, false)
		p.item, p.is = item, true
	}
	for _, m := range c.Back {
		_, known := j.paths[m.Key]
		p := j.at(m.Key, m.Title, false)
		p.is, p.returned = true, p.returned || !known
	}
	for _, u := range c.Updated {
		p := j.at(u.Key, u.Title, true)
		p.is = true
		for _, name := range u.Fields {
			if !slices.Contains(p.fields, name) {
				p.fields = append(p.fields, name)
			}
		}
	}
	for _, m := range c.Gone {
		j.at(m.Key, m.Title, true).is = false
	}
}

// tell appends the combined change of each item to all.
func (j *itemJoin) tell(all *ItemChanges) {
	for _, key := range j.order {
		p := j.paths[key]
		mention := ItemMention{Key: key, Title: p.item.Title}
		switch {
		case !p.was && p.is && p.returned:
			all.Back = append(all.Back, mention)
		case !p.was && p.is:
			all.Added = append(all.Added, p.item)
		case p.was && !p.is:
			all.Gone = append(all.Gone, mention)
		case p.was && len(p.fields) > 0:
			slices.Sort(p.fields)
			all.Updated = append(all.Updated, ItemChange{Key: key, Title: p.item.Title, Fields: p.fields})
		}
	}
	all.AddedCount += len(all.Added)
	all.UpdatedCount += len(all.Updated)
	all.GoneCount += len(all.Gone)
	all.BackCount += len(all.Back)
}
