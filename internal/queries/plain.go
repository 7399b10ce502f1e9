package queries

import (
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"freshet/internal/freshet"
	"freshet/internal/mask"
)

const (
	maxValueText  = 4096 // bytes of a text in the value of a match
	maxValueList  = 200  // elements of a list or an object
	maxValueDepth = 4
)

// plainOf returns a value of CEL as JSON can write it, cut to a size that can be sent.
func plainOf(v ref.Val, depth int) any {
	switch v := v.(type) {
	case types.String:
		return mask.Shorten(string(v), maxValueText)
	case types.Bool:
		return bool(v)
	case types.Int:
		return int64(v)
	case types.Uint:
		return uint64(v)
	case types.Double:
		if f := float64(v); f-f == 0 {
			return f
		}
		return nil
	case types.Timestamp:
		return v.UTC().Format(time.RFC3339Nano)
	case types.Duration:
		return v.Duration.String()
	case object:
		return plainObject(v, depth)
	}
	if depth == maxValueDepth {
		return nil
	}
	switch v := v.(type) {
	case traits.Mapper:
		all := map[string]any{}
		for it := v.Iterator(); it.HasNext() == types.True && len(all) < maxValueList; {
			key := it.Next()
			all[freshet.ShowValue(plainOf(key, depth+1))] = plainOf(v.Get(key), depth+1)
		}
		return all
	case traits.Lister:
		list := []any{}
		size, _ := v.Size().(types.Int)
		for i := range min(size, maxValueList) {
			list = append(list, plainOf(v.Get(i), depth+1))
		}
		return list
	}
	return nil
}

// plainObject returns an object of the vocabulary. Of those that stand for the event
// itself there is nothing to tell that the changes of the match do not.
func plainObject(o object, depth int) any {
	if depth == maxValueDepth {
		return nil
	}
	switch of := o.of.(type) {
	case freshet.Fields:
		return plainFields(of)
	case *freshet.Item:
		return plainItem(of)
	case *ItemUpdate:
		return map[string]any{"now": plainItem(&of.Now), "before": plainItem(&of.Before), "changed": of.Changed}
	}
	return nil
}

func plainItem(i *freshet.Item) map[string]any {
	all := plainFields(i.Fields)
	for name, text := range map[string]string{"key": i.Key, "title": i.Title, "link": i.Link, "date": i.Date, "text": i.Text} {
		if text != "" {
			all[name] = mask.Shorten(text, maxValueText)
		}
	}
	return all
}

func plainFields(f freshet.Fields) map[string]any {
	all := map[string]any{}
	for name, v := range f {
		if text, ok := v.(string); ok {
			v = mask.Shorten(text, maxValueText)
		}
		all[name] = v
	}
	return all
}
