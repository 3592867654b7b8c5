import {
  IconDeviceLaptop,
  IconHeartbeat,
  IconHistory,
  IconKey,
  IconUserShield,
  IconUsers,
} from '@tabler/icons-react'
import { lazy, Suspense } from 'react'
import { Route, Router, Switch } from 'wouter'
import { componentOf } from './components/lazy.tsx'
import { LoadingPage, MessagePage, NotFoundPage } from './components/states.tsx'
import { useFragmentLocation } from './fragment.ts'
import { Frame } from './frame.tsx'
import { SessionGate } from './session/gate.tsx'
import { useRights } from './session/rights.ts'
import { SignedInPage, signedInRoute } from './session/signed-in.tsx'

const ProjectsPage = lazy(() => componentOf(import('./pages/projects/page.tsx'), 'ProjectsPage'))
const ProjectPage = lazy(() => componentOf(import('./pages/project/page.tsx'), 'ProjectPage'))
const KeyPage = lazy(() => componentOf(import('./pages/key/page.tsx'), 'KeyPage'))
const RotatePage = lazy(() => componentOf(import('./pages/rotate/page.tsx'), 'RotatePage'))
const ApiKeysPage = lazy(() => componentOf(import('./pages/api-keys/page.tsx'), 'ApiKeysPage'))
const HistoryPage = lazy(() => componentOf(import('./events/history.tsx'), 'HistoryPage'))
const StatusPage = lazy(() => componentOf(import('./pages/status.tsx'), 'StatusPage'))
const AccessRulesPage = lazy(() =>
  componentOf(import('./pages/access-rules/page.tsx'), 'AccessRulesPage'),
)
const PeoplePage = lazy(() => componentOf(import('./pages/access/people.tsx'), 'PeoplePage'))
const SessionsPage = lazy(() => componentOf(import('./pages/access/sessions.tsx'), 'SessionsPage'))

/** The console. Its routes are in the URL fragment, which is never sent to a server. */
export function App() {
  if (location.hash === `#${signedInRoute}`) return <SignedInPage />
  return (
    <SessionGate>
      <Router hook={useFragmentLocation}>
        <Frame pages={pages}>
          <Suspense fallback={<LoadingPage />}>
            <Pages />
          </Suspense>
        </Frame>
      </Router>
    </SessionGate>
  )
}

/** The pages of the navigation beside the projects: for admins and auditors of all projects, or for all. */
const pages = [
  { path: '/api-keys', label: 'API keys', Icon: IconKey, Page: ApiKeysPage },
  { path: '/access-rules', label: 'Access rules', Icon: IconUserShield, Page: AccessRulesPage },
  { path: '/people', label: 'People', Icon: IconUsers, Page: PeoplePage },
  {
    path: '/sessions',
    label: 'Sessions',
    Icon: IconDeviceLaptop,
    Page: SessionsPage,
    isForAll: true,
  },
  { path: '/history', label: 'History', Icon: IconHistory, Page: HistoryPage },
  { path: '/status', label: 'Status', Icon: IconHeartbeat, Page: StatusPage },
]

function AuditorsOnly() {
  return (
    <MessagePage title="Not open to you">
      Only an admin or auditor of all projects can see this page.
    </MessagePage>
  )
}

function Pages() {
  const { mayAudit } = useRights()
  return (
    <Switch>
      <Route path="/">
        <Home />
      </Route>
      <Route path="/projects/:project/rotate/:kid">
        {({ project, kid }) => <RotatePage key={kid} project={project} oldKid={kid} />}
      </Route>
      <Route path="/projects/:project/keys/:kid">
        {({ project, kid }) => (
          <KeyPage key={kid} project={project} kid={decodeURIComponent(kid)} />
        )}
      </Route>
      <Route path="/projects/:project/:tab?">
        {({ project, tab }) => <ProjectPage key={project} project={project} tab={tab ?? 'keys'} />}
      </Route>
      {pages.map(({ path, Page, isForAll }) => (
        <Route key={path} path={path} component={mayAudit || isForAll ? Page : AuditorsOnly} />
      ))}
      <Route>
        <NotFoundPage />
      </Route>
    </Switch>
  )
}

/** The projects of the user, or the only one. */
function Home() {
  const { onlyProject } = useRights()
  return onlyProject === undefined ? (
    <ProjectsPage />
  ) : (
    <ProjectPage project={onlyProject} tab="keys" />
  )
}
