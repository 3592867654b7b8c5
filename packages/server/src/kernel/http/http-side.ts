import type {
  Counter,
  CounterConfiguration,
  GaugeConfiguration,
  Histogram,
  HistogramConfiguration,
} from 'prom-client'
import type { Subscription } from '../hooks.ts'
import type { Kernel } from '../kernel.ts'
import type { RequestRecord } from './hooks/logging.ts'
import type { App } from './options.ts'

/** The HTTP side of a feature: the exports of its `http.ts`. */
export interface HttpSide {
  /** Adds the routes, and starts what works beside them. */
  routes(app: App, kernel: Kernel): void | Promise<void>
  /** Takes part in what other features do in a request. */
  hooks?: readonly Subscription[]
  /** Adds the metrics, if the process collects any. */
  metrics?(kernel: Kernel, meters: Meters): void
}

type Reading = number | undefined | readonly (readonly [labels: object, value: number])[]

export interface GaugeOptions
  extends Pick<GaugeConfiguration<string>, 'name' | 'help' | 'labelNames'> {
  /** At each scrape: the value, if there is one, or the value for each combination of labels. */
  read(): Reading | Promise<Reading>
}

type Options<Configuration> = Omit<Configuration, 'registers'>

/** Where the metrics of a process are added. */
export interface Meters {
  gauge(options: GaugeOptions): void
  counter<Label extends string>(options: Options<CounterConfiguration<Label>>): Counter<Label>
  histogram<Label extends string>(options: Options<HistogramConfiguration<Label>>): Histogram<Label>
  /** Calls the observer after each request. */
  onRequest(observer: (record: RequestRecord) => void): void
}
