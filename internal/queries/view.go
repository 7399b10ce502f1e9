package queries

import (
	"errors"
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"freshet/internal/freshet"
)

// errMissing means that a value that a condition asks for is not there.
var errMissing = errors.New("there is no such value")

// An itemKind says what became of items.
type itemKind int

const (
	itemsAdded itemKind = iota
	itemsRemoved
	itemsBack
	itemsUpdated
	itemKinds
)

// A view is an event as conditions see it. Values are made when they are asked for,
// and once for all conditions.
type view struct {
	event    *Event
	failures int     // polls in a row that failed, for the condition that is evaluated
	extra    []named // of the condition that is evaluated: constants, results of functions
	lists    [itemKinds]ref.Val
	tagList  ref.Val
	given    *Items
	paths    map[path][]any // values that atoms have looked at
	hash     string         // of the group of the source, once it was asked for
	before   *view          // the source before the change, likewise
}

// A named value is one that belongs to a condition.
type named struct {
	name  string
	value ref.Val
}

// Parent implements interpreter.Activation.
func (v *view) Parent() interpreter.Activation { return nil }

// ResolveName implements interpreter.Activation.
func (v *view) ResolveName(name string) (any, bool) {
	c := &v.event.Content
	switch name {
	case "added":
		return types.String(c.Added), !c.Gone.Has(NeedDiff)
	case "removed":
		return types.String(c.Removed), !c.Gone.Has(NeedDiff)
	case "text":
		return types.String(c.Text), !c.Gone.Has(NeedText)
	case "now":
		return asObject(fieldsType, c.Now), true
	case "before":
		return asObject(fieldsType, c.Before), true
	case "items":
		return asObject(itemsType, v), true
	case "source":
		return asObject(sourceType, v), true
	case "change":
		return asObject(changeType, v), true
	case "page":
		return asObject(pageType, v), true
	case "poll":
		return asObject(pollType, v), true
	case "noise":
		return types.Bool(v.event.noise()), true
	case "suspect":
		return types.Bool(v.event.suspect()), true
	}
	for i := range v.extra {
		if v.extra[i].name == name {
			return v.extra[i].value, true
		}
	}
	return nil, false
}

// tags returns the tags of the source.
func (v *view) tags() ref.Val {
	if v.tagList == nil {
		v.tagList = types.NewStringList(types.DefaultTypeAdapter, v.event.Subject.Label.Tags)
	}
	return v.tagList
}

// told returns the items that differ from before.
func (v *view) told() *Items {
	if v.given != nil {
		return v.given
	}
	v.given = v.event.Content.Items
	if v.given == nil {
		v.given = &Items{}
		if c := v.event.Change; c != nil && c.Details.Items != nil {
			v.given = itemsOf(c.Details.Items)
		}
	}
	return v.given
}

// itemsOf returns what the log says of items.
func itemsOf(c *freshet.ItemChanges) *Items {
	mentioned := func(list []freshet.ItemMention) (items []freshet.Item) {
		for _, m := range list {
			items = append(items, freshet.Item{Key: m.Key, Title: m.Title})
		}
		return items
	}
	items := &Items{Added: c.Added, Removed: mentioned(c.Gone), Back: mentioned(c.Back)}
	for _, u := range c.Updated {
		one := freshet.Item{Key: u.Key, Title: u.Title}
		items.Updated = append(items.Updated, ItemUpdate{Now: one, Before: freshet.Item{Key: u.Key}, Changed: u.Fields})
	}
	return items
}

// of returns the items to which something happened, as they are now.
func (i *Items) of(kind itemKind, each func(*freshet.Item)) {
	list := i.Added
	switch kind {
	case itemsRemoved:
		list = i.Removed
	case itemsBack:
		list = i.Back
	case itemsUpdated:
		for n := range i.Updated {
			each(&i.Updated[n].Now)
		}
		return
	}
	for n := range list {
		each(&list[n])
	}
}

// items returns a list of items.
func (v *view) items(kind itemKind) ref.Val {
	if v.lists[kind] != nil {
		return v.lists[kind]
	}
	var list []ref.Val
	if told := v.told(); kind == itemsUpdated {
		for n := range told.Updated {
			list = append(list, asObject(updateType, &told.Updated[n]))
		}
	} else {
		told.of(kind, func(i *freshet.Item) { list = append(list, asObject(itemType, i)) })
	}
	v.lists[kind] = types.NewRefValList(types.DefaultTypeAdapter, list)
	return v.lists[kind]
}

// valueOf returns a named value for CEL. Nil is none.
func valueOf(v any) (any, bool) {
	switch v := v.(type) {
	case float64:
		return types.Double(v), true
	case string:
		return types.String(v), true
	case bool:
		return types.Bool(v), true
	case []string:
		return types.NewStringList(types.DefaultTypeAdapter, v), true
	case []any:
		texts := make([]string, len(v))
		for i, x := range v {
			texts[i] = freshet.ShowValue(x)
		}
		return types.NewStringList(types.DefaultTypeAdapter, texts), true
	case int:
		return types.Double(v), true
	}
	return nil, false
}

// itemValue returns a value of an item for CEL.
func itemValue(i *freshet.Item, name string) (any, bool) {
	switch name {
	case "key":
		return types.String(i.Key), true
	case "title":
		return types.String(i.Title), true
	case "link":
		return types.String(i.Link), true
	case "date":
		return types.String(i.Date), true
	case "text":
		return types.String(i.Text), true
	}
	return valueOf(i.Fields[name])
}

// An object is a value with members.
type object struct {
	is *types.Type
	of any
}

func asObject(is *types.Type, of any) ref.Val { return object{is, of} }

// ConvertToNative implements ref.Val.
func (o object) ConvertToNative(t reflect.Type) (any, error) {
	return nil, errors.New("a " + o.is.TypeName() + " cannot be converted")
}

// ConvertToType implements ref.Val.
func (o object) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("a %s cannot be converted to %s", o.is.TypeName(), t.TypeName())
}

// Equal implements ref.Val.
func (o object) Equal(other ref.Val) ref.Val {
	return types.Bool(reflect.DeepEqual(o.of, other.Value()))
}

// Type implements ref.Val.
func (o object) Type() ref.Type { return o.is }

// Value implements ref.Val.
func (o object) Value() any { return o.of }
