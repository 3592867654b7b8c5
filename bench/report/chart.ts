import type { ReadFigure } from './figures.ts'

const width = 720
const left = 150
const right = 60
const barHeight = 16
const groupGap = 18
const top = 48

/** Readable on white and on black: text follows the reader's theme, bars keep their color. */
const style = `
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600 }
  .quiet { fill: #57606a; font-size: 11px }
  .axis { stroke: #8c959f; stroke-width: 1 }
  .target { stroke: #d1242f; stroke-width: 2 }
  .SQLite { fill: #1f78c1 }
  .PostgreSQL { fill: #e08a1e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #9198a1 }
  }`

/** The reads of single processes relative to the baseline, with their targets, as an SVG document. */
export function renderChart(reads: readonly ReadFigure[]): string {
  const shown = reads.filter(({ server }) => server === 'SQLite' || server === 'PostgreSQL')
  const groups = Map.groupBy(shown, ({ operation }) => operation)
  const longest = Math.max(
    2,
    ...shown.map(({ ratio, target }) => Math.max(ratio.median, target?.max ?? 0)),
  )
  const scale = (width - left - right) / longest
  let y = top
  const parts: string[] = []
  for (const [operation, figures] of groups) {
    const middle = y + (figures.length * barHeight) / 2 + 4
    parts.push(`<text x="${left - 10}" y="${middle}" text-anchor="end">${operation}</text>`)
    for (const figure of figures) {
      parts.push(...bar(figure, y, scale))
      y += barHeight
    }
    y += groupGap
  }
  const height = y + 10
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="CPU of the server per request over that of the baseline">
<style>${style}
</style>
<text class="title" x="10" y="20">CPU per request, the baseline (node:http with a ready string) = 1</text>
${legend()}
<line class="axis" x1="${place(1, scale)}" x2="${place(1, scale)}" y1="${top - 6}" y2="${y - groupGap + 6}" stroke-dasharray="3 3"/>
${parts.join('\n')}
</svg>
`
}

function place(value: number, scale: number): string {
  return (left + value * scale).toFixed(1)
}

function bar({ server, ratio, target }: ReadFigure, y: number, scale: number): string[] {
  const at = (value: number) => place(value, scale)
  const length = (ratio.median * scale).toFixed(1)
  const end = left + Math.max(ratio.median, target?.max ?? 0) * scale + 6
  return [
    `<rect class="${server}" x="${left}" y="${y + 1}" width="${length}" height="${barHeight - 2}"/>`,
    `<text class="quiet" x="${end.toFixed(1)}" y="${y + 12}">${ratio.median.toFixed(2)}</text>`,
    ...(target?.max === undefined
      ? []
      : [
          `<line class="target" x1="${at(target.max)}" x2="${at(target.max)}" y1="${y}" y2="${y + barHeight}"/>`,
        ]),
  ]
}

function legend(): string {
  return [
    `<rect class="SQLite" x="${left}" y="30" width="10" height="10"/><text class="quiet" x="${left + 15}" y="39">SQLite</text>`,
    `<rect class="PostgreSQL" x="${left + 75}" y="30" width="10" height="10"/><text class="quiet" x="${left + 90}" y="39">PostgreSQL</text>`,
    `<line class="target" x1="${left + 175}" x2="${left + 175}" y1="29" y2="41"/><text class="quiet" x="${left + 182}" y="39">target: at most</text>`,
  ].join('\n')
}
