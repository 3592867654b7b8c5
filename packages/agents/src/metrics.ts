/** Metrics by their names. */
type Metrics = Record<
  string,
  [help: string, values: readonly (readonly [labels: Record<string, string>, value: number])[]]
>

/** Metrics in the text format of Prometheus. Those whose names end in `_total` are counters. */
export function metricsText(metrics: Metrics): string {
  return Object.entries(metrics)
    .map(([name, [help, values]]) => {
      const lines = values.map(([labels, value]) => `${name}${labelText(labels)} ${value}\n`)
      const type = name.endsWith('_total') ? 'counter' : 'gauge'
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
    })
    .join('')
}

function labelText(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(
    ([name, text]) => `${name}="${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`,
  )
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
