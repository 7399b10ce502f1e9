package queries

import (
	"fmt"
	"maps"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/reading"
	"freshet/internal/mask"
)

// The types of the names in a condition.
var (
	fieldsType = types.NewObjectType("Fields")
	itemsType  = types.NewObjectType("Items")
	itemType   = types.NewObjectType("Item")
	updateType = types.NewObjectType("ItemUpdate")
	sourceType = types.NewObjectType("Source")
	changeType = types.NewObjectType("Change")
	pageType   = types.NewObjectType("Page")
	pollType   = types.NewObjectType("Poll")
)

// names are the names in a condition.
func names() map[string]*types.Type {
	return map[string]*types.Type{
		"added": types.StringType, "removed": types.StringType, "text": types.StringType,
		"now": fieldsType, "before": fieldsType, "items": itemsType,
		"source": sourceType, "change": changeType, "page": pageType, "poll": pollType,
		"noise": types.BoolType, "suspect": types.BoolType,
	}
}

// A member is a value within an object: its type, and how it is found.
type member struct {
	is  *types.Type
	get func(v any) (any, bool)
}

// members are the values of each object whose members are known beforehand.
func members() map[string]map[string]member {
	texts, moments := types.NewListType(types.StringType), types.TimestampType
	text, number, truth := types.StringType, types.IntType, types.BoolType
	source := func(get func(*view) any) func(any) (any, bool) {
		return func(v any) (any, bool) { return get(v.(*view)), true }
	}
	change := func(get func(*freshet.Change) any) func(any) (any, bool) {
		return func(v any) (any, bool) {
			c := v.(*view).event.Change
			if c == nil {
				return nil, false
			}
			return get(c), true
		}
	}
	poll := func(get func(*view, *freshet.Outcome) any) func(any) (any, bool) {
		return func(v any) (any, bool) {
			o := v.(*view).event.Outcome
			if o == nil {
				return nil, false
			}
			return get(v.(*view), o), true
		}
	}
	happened := func(e crawl.PageEvent) member {
		return member{truth, change(func(c *freshet.Change) any { return types.Bool(c.Details.Page == e) })}
	}
	items := func(kind itemKind, is *types.Type) member {
		return member{types.NewListType(is), source(func(v *view) any { return v.items(kind) })}
	}
	return map[string]map[string]member{
		"Source": {
			"id":   {text, source(func(v *view) any { return types.String(v.event.Subject.ID) })},
			"url":  {text, source(func(v *view) any { return types.String(mask.URL(v.event.Subject.Label.URL)) })},
			"name": {text, source(func(v *view) any { return types.String(v.event.Subject.Label.Name) })},
			"tags": {texts, source(func(v *view) any { return v.tags() })},
			"site": {text, source(func(v *view) any { return types.String(v.event.Subject.Site) })},
			"host": {text, source(func(v *view) any { return types.String(freshet.HostOf(v.event.Subject.Label.URL)) })},
		},
		"Change": {
			"id":       {text, change(func(c *freshet.Change) any { return types.String(c.ID()) })},
			"seq":      {number, change(func(c *freshet.Change) any { return types.Int(c.Seq) })},
			"after":    {moments, change(func(c *freshet.Change) any { return types.Timestamp{Time: c.After} })},
			"before":   {moments, change(func(c *freshet.Change) any { return types.Timestamp{Time: c.Before} })},
			"modified": {moments, modified},
			"at":       {moments, change(func(c *freshet.Change) any { return types.Timestamp{Time: c.At()} })},
			"summary":  {text, change(func(c *freshet.Change) any { return types.String(c.Summary) })},
			"suspect":  {text, change(func(c *freshet.Change) any { return types.String(c.Suspect) })},
		},
		"Page": {"new": happened(crawl.PageCame), "gone": happened(crawl.PageWent), "back": happened(crawl.PageBack)},
		"Poll": {
			"ok":       {truth, poll(func(_ *view, o *freshet.Outcome) any { return types.Bool(o.Result.Seen()) })},
			"result":   {text, poll(func(_ *view, o *freshet.Outcome) any { return types.String(o.Result.String()) })},
			"failure":  {text, poll(func(_ *view, o *freshet.Outcome) any { return types.String(o.Failure) })},
			"failures": {number, poll(func(v *view, _ *freshet.Outcome) any { return types.Int(v.failures) })},
			"status":   {number, poll(func(_ *view, o *freshet.Outcome) any { return types.Int(o.Status) })},
		},
		"Items": {"added": items(itemsAdded, itemType), "removed": items(itemsRemoved, itemType), "back": items(itemsBack, itemType), "updated": items(itemsUpdated, updateType)},
	}
}

// modified is missing if the source does not say when it changed.
func modified(v any) (any, bool) {
	c := v.(*view).event.Change
	if c == nil || c.Modified.IsZero() {
		return nil, false
	}
	return types.Timestamp{Time: c.Modified}, true
}

// itemMembers are the values that every item can have. All others are named by the
// recipe of the source.
var itemMembers = []string{"key", "title", "link", "date", "text"}

// A provider tells CEL which members the objects in a condition have.
type provider struct {
	*types.Registry
	members map[string]map[string]member
	schema  *Schema // nil: all types of named values are open
}

func (p *provider) FindStructType(name string) (*types.Type, bool) {
	switch name {
	case "Fields", "Item", "ItemUpdate":
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	if _, ok := p.members[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Registry.FindStructType(name)
}

func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if of, ok := p.members[name]; ok {
		return slices.Sorted(maps.Keys(of)), true
	}
	return nil, false
}

func (p *provider) FindStructFieldType(object, name string) (*types.FieldType, bool) {
	var m member
	switch object {
	case "Fields":
		m = member{p.schema.field(name), func(v any) (any, bool) { return valueOf(v.(freshet.Fields)[name]) }}
	case "Item":
		m = member{p.schema.itemValue(name), func(v any) (any, bool) { return itemValue(v.(*freshet.Item), name) }}
	case "ItemUpdate":
		m = member{p.schema.itemValue(name), func(v any) (any, bool) { return itemValue(&v.(*ItemUpdate).Now, name) }}
		switch name {
		case "now", "before":
			m = member{itemType, func(v any) (any, bool) {
				if u := v.(*ItemUpdate); name == "now" {
					return asObject(itemType, &u.Now), true
				} else {
					return asObject(itemType, &u.Before), true
				}
			}}
		case "changed":
			m = member{types.NewListType(types.StringType), func(v any) (any, bool) {
				return types.NewStringList(types.DefaultTypeAdapter, v.(*ItemUpdate).Changed), true
			}}
		}
	default:
		var ok bool
		if m, ok = p.members[object][name]; !ok {
			return nil, false
		}
	}
	return &types.FieldType{
		Type:  m.is,
		IsSet: func(v any) bool { _, ok := m.get(v); return ok },
		GetFrom: func(v any) (any, error) {
			if x, ok := m.get(v); ok {
				return x, nil
			}
			return nil, fmt.Errorf("%w: %s", errMissing, name)
		},
	}, true
}

func (p *provider) NewValue(name string, _ map[string]ref.Val) ref.Val {
	return types.NewErr("%s cannot be made", name)
}

// A Schema says which named values the sources of a query have, and their types. It
// serves to find mistakes: a condition can be run without one.
type Schema struct {
	Fields map[string]reading.ValueType
	Items  map[string]reading.ValueType // of their items
}

// mixed is the type of values whose type is not the same everywhere.
const mixed reading.ValueType = "mixed"

// Add takes in what a source extracts.
func (s *Schema) Add(r reading.Recipe) {
	if s.Fields == nil {
		s.Fields, s.Items = map[string]reading.ValueType{}, map[string]reading.ValueType{}
	}
	for _, to := range []struct {
		known map[string]reading.ValueType
		from  reading.Extracts
	}{{s.Fields, r.Extract}, {s.Items, r.Items.Fields}} {
		for name, e := range to.from {
			as := e.As
			if as == "" {
				as = reading.AsText
			}
			if old, ok := to.known[name]; ok && old != as {
				as = mixed
			}
			to.known[name] = as
		}
	}
}

func (s *Schema) field(name string) *types.Type {
	if s == nil {
		return types.DynType
	}
	return typeOf(s.Fields[name])
}

func (s *Schema) itemValue(name string) *types.Type {
	if slices.Contains(itemMembers, name) {
		return types.StringType
	}
	if s == nil {
		return types.DynType
	}
	return typeOf(s.Items[name])
}

func typeOf(t reading.ValueType) *types.Type {
	switch t {
	case reading.AsText, reading.AsDate:
		return types.StringType
	case reading.AsNumber:
		return types.DoubleType
	case reading.AsBool:
		return types.BoolType
	case reading.AsList:
		return types.NewListType(types.StringType)
	}
	return types.DynType
}

const (
	maxNodes = 400 // of a condition
	maxDepth = 40  // of its brackets
)

// newEnv returns the language of conditions.
func newEnv(schema *Schema, more ...cel.EnvOption) (*cel.Env, error) {
	registry := types.NewEmptyRegistry()
	return environment(&provider{Registry: registry, members: members(), schema: schema}, registry, names(), append(append(functions(), lookbacks()...), more...))
}

// environment returns a language with some names and functions beside those of CEL.
func environment(p types.Provider, adapter types.Adapter, names map[string]*types.Type, more []cel.EnvOption) (*cel.Env, error) {
	opts := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(env.NewLibrarySubset().AddExcludedFunctions(env.NewFunction("matches")))), cel.CustomTypeAdapter(adapter), cel.CustomTypeProvider(p),
		cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true),
		cel.ExpressionNodeLimit(maxNodes), cel.ExpressionNestingDepthLimit(maxDepth), cel.ParserRecursionLimit(maxDepth),
		cel.ParserErrorRecoveryLimit(4), cel.ParserExpressionSizeLimit(8192),
		ext.Strings(ext.StringsVersion(2)), ext.Math(ext.MathVersion(1)),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
	}
	for name, t := range names {
		opts = append(opts, cel.Variable(name, t))
	}
	return cel.NewCustomEnv(append(opts, more...)...)
}
