interface Metric {
  name: string
  help: string
  type: 'gauge' | 'counter'
  values: readonly (readonly [labels: Record<string, string>, value: number])[]
}

/** Metrics in the text format of Prometheus. */
export function metricsText(metrics: readonly Metric[]): string {
  return metrics
    .map(({ name, help, type, values }) => {
      const lines = values.map(([labels, value]) => `${name}${labelText(labels)} ${value}\n`)
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
