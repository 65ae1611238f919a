(* On a filled grid, a table that passes the checks comes to rest, in one frame, which shows what it should.

   The induction goes over rows from the lowest up. In a row two sweeps follow each other: digits and carries from right
   to left, then rest and blanks from left to right. Both are shown of two runs side by side, from any two starts: that
   they come to the same frame is rest (two moments of one run) and uniqueness (two starts) in one. *)

From Coq Require Import List Arith Bool Lia.
From Gridsum Require Import Grid Rule Check.
Import ListNotations.

Section Induction.

Variables (R : rule) (T : table) (C : certificate).
Hypothesis checked : conditions R T C.

Variables (N W : nat) (x : nat -> nat -> symbol).
Hypothesis some_term : 1 <= N.
Hypothesis grid : filled R W x N.
Hypothesis law : lawful R W x N.

Notation means := (means R x).
Notation blank := (blank R W x).
Notation low := (low R W x).
Notation kind_of := (kind_of R W x).
Notation left_neighbour := (left_neighbour R W x).
Notation run := (run T W x).
Notation made := (made_of_states T (S N) W).

Lemma wide : 3 <= W.
Proof. destruct grid as [_ terms]. destruct (terms 1) as (n & some & room & _); lia. Qed.

Lemma held_by : forall i j, i <= N -> j < W -> In (x i j) (held R).
Proof.
  intros i j rows columns. apply in_or_app. destruct grid as [ground terms]. destruct i as [|i].
  - right. rewrite ground by assumption. simpl; auto.
  - destruct (what_is_held R W x (S i) j (terms (S i) ltac:(lia)) columns) as [(d & lt & ->) | [-> | ->]]; simpl; auto.
    left. apply in_map_iff. exists d. split; [reflexivity|]. apply in_seq. lia.
Qed.

Lemma kind_of_term : forall i j, In (kind_of (S i) j) term_kinds.
Proof. intros i j. unfold kind_of, term_kinds. destruct (low (S i) j), (shape_of (x (S i) j)); simpl; auto 8. Qed.

(* ---- A run never leaves the states ---- *)

Lemma made_step : forall s, made s -> made (step T W x s).
Proof.
  intros s made i j rows columns. apply (stays R T C checked).
  - apply held_by; lia.
  - destruct j; simpl; [exact I|]. apply made; lia.
  - destruct i; simpl; [exact I|]. apply made; lia.
  - unfold left_of. destruct (S j <? W) eqn:inside; simpl; [|exact I]. apply Nat.ltb_lt in inside. now apply made.
Qed.

Lemma made_run : forall n s, made s -> made (run n s).
Proof. induction n; intros s states; simpl; auto using made_step. Qed.

(* One more step of a run, as one cell sees it. *)
Lemma run_cell : forall n s i j,
  run (S n) s i j = next T (x i j) (right_of (run n s) i j) (below (run n s) i j) (left_of W (run n s) i j).
Proof. reflexivity. Qed.

Lemma side_left : forall n s i j, made s -> i <= N -> j < W -> side T (left_of W (run n s) i j).
Proof.
  intros n s i j states rows columns. unfold left_of. destruct (S j <? W) eqn:inside; simpl; [|exact I].
  apply Nat.ltb_lt in inside. apply made_run; [assumption | lia | assumption].
Qed.

(* ---- Rows at rest ---- *)

(* What may stand at rest in cell (i, j). *)
Definition rested (i j c : nat) : Prop :=
  match i with
  | 0 => c < size T /\ (if j =? 0 then corner C c = true else ground C c = true)
  | S _ => stands R T C (kind_of i j) (means i j) (blank i j) c
  end.

(* From step [n] on, row i is the same in every run, and shows what it should. *)
Definition settled (i n : nat) : Prop :=
  forall s s', made s -> made s' -> forall t t' j, n <= t -> n <= t' -> j < W ->
    run t s i j = run t' s' i j /\ rested i j (run t s i j).

(* A row at rest shows the row above it the digits that it should. *)
Lemma digit_below_rested : forall i j b, S i <= N -> j < W -> rested i j b ->
  b < size T /\ digit_below R T C (i =? 0) (j =? 0) (low (S i) j) b = Some (fst (means i j)).
Proof.
  intros [|i] j b rows columns stood.
  - destruct stood as [lt on]. split; [assumption|]. unfold digit_below. cbn.
    destruct (j =? 0); now rewrite on.
  - assert (kinds := kind_of_term i j). destruct stood as (lt & mean & read). split; [assumption|].
    unfold digit_below. cbn [Nat.eqb]. change (low (S (S i)) j) with (blank (S i) j).
    destruct (blank (S i) j) eqn:nothing.
    + destruct read as [read none]. assert (notlast : j =? 0 = false).
      { unfold Rule.blank in nothing. now destruct (j =? 0). }
      rewrite notlast. cbn [negb andb]. destruct law as [zero _]. rewrite (zero _ none).
      unfold is_blank. rewrite read. replace (existsb _ _) with true; [reflexivity|]. symmetry.
      apply existsb_exists. exists (kind_of (S i) j). split; [assumption|]. now rewrite mean.
    + unfold is_number. rewrite read. replace (existsb _ _) with true; [reflexivity|]. symmetry.
      apply existsb_exists. exists (kind_of (S i) j). split; [assumption|]. rewrite mean. apply Nat.eqb_refl.
Qed.

(* ---- A term's row, over a row at rest ---- *)

Section Row.

Variables (i n : nat).
Hypothesis rows : S i <= N.
Hypothesis under : settled i n.

Let term : holds_term R W x (S i).
Proof. destruct grid as [_ terms]. apply terms. lia. Qed.

(* The check of the last column, and of every other cell whose right neighbour means what it should. *)
Lemma last_cell : forall s t, made s -> n <= t ->
  last_holds R T C (i =? 0) (kind_of (S i) 0) (x (S i) 0) (run t s i 0) (fst (means i 0)).
Proof.
  intros s t states late. assert (w := wide).
  destruct (under s s states states t t 0 late late ltac:(lia)) as [_ stood].
  destruct (digit_below_rested i 0 _ rows ltac:(lia) stood) as [lt digit].
  destruct (in_last_column R W x (S i) term) as (d & _ & is_digit).
  assert (shape : shape_of (x (S i) 0) = WithDigit) by now rewrite is_digit.
  unfold Rule.kind_of. rewrite shape. apply (last_cells R T C checked); auto. apply held_by; lia.
Qed.

Lemma inner_cell : forall s t j r, made s -> n <= t -> S j < W -> r < size T ->
  meaning_of C (kind_of (S i) j) r = Some (means (S i) j) ->
  inner_holds R T C (i =? 0) (kind_of (S i) (S j)) (x (S i) (S j)) (run t s i (S j)) (fst (means i (S j))) r
    (kind_of (S i) j) (means (S i) j).
Proof.
  intros s t j r states late columns lt mean.
  destruct (under s s states states t t (S j) late late columns) as [_ stood].
  destruct (digit_below_rested i (S j) _ rows columns stood) as [below_lt digit].
  apply (inner_cells R T C checked); auto.
  - apply held_by; lia.
  - apply kind_of_term.
  - exact (neighbours_fit R W x (S i) j term ltac:(lia) columns).
  - destruct law as (_ & right & _). exact (right (S i) j ltac:(lia) columns).
Qed.

(* First sweep, from right to left: cells come to mean what they should, whatever stands to their left. *)
Lemma sweep_left : forall s j, made s -> j < W -> forall t, n + S j <= t ->
  meaning_of C (kind_of (S i) j) (run t s (S i) j) = Some (means (S i) j).
Proof.
  intros s j states. induction j as [|j right]; intros columns [|t] late; try lia;
    rewrite run_cell, means_is; cbn [below right_of carry_in].
  - destruct (last_cell s t states ltac:(lia)) as [comes _]. apply comes, side_left; auto; lia.
  - assert (lt : run t s (S i) j < size T) by (apply made_run; auto; lia).
    destruct (inner_cell s t j _ states ltac:(lia) columns lt (right ltac:(lia) t ltac:(lia))) as [comes _].
    apply comes, side_left; auto; lia.
Qed.

(* What a cell shows, by its left neighbour. *)
Lemma wanted_is : forall j, 0 < j < W ->
  wanted R (means (S i) j) (match left_neighbour (S i) j with Some l => snd l | None => true end)
  = if blank (S i) j then None else Some (fst (means (S i) j)).
Proof.
  intros [|j] columns; [lia|]. unfold wanted, Rule.left_neighbour, Rule.blank. cbn [Nat.eqb negb andb].
  rewrite (empty_from_step R W x (S i) (S j)) by lia. destruct (S (S j) <? W) eqn:inside; cbn [snd].
  - destruct (none R (means (S i) (S j)) && empty_from R W x (S i) (S (S j))); reflexivity.
  - apply Nat.ltb_ge in inside. replace (S (S j)) with W by lia. rewrite empty_from_end. reflexivity.
Qed.

(* A left neighbour at rest: the border, beside an empty cell, or a state that stands there in both runs. *)
Definition left_rests (j : nat) (l l' : option nat) : Prop :=
  l = l' /\ ((l = None /\ x (S i) j = None /\ S j = W)
             \/ exists c, l = Some c /\ S j < W
                 /\ stands R T C (kind_of (S i) (S j)) (means (S i) (S j)) (blank (S i) (S j)) c).

(* Once the left neighbour is at rest, and the sweep from the right is over, so is a cell. *)
Lemma cell_rests : forall s s' t t' j, made s -> made s' -> n + W <= t -> n + W <= t' -> j < W ->
  left_rests j (left_of W (run t s) (S i) j) (left_of W (run t' s') (S i) j) ->
  run (S t) s (S i) j = run (S t') s' (S i) j /\ rested (S i) j (run (S t) s (S i) j).
Proof.
  intros s s' t t' j states states' late late' columns [same left].
  assert (meant : meaning_of C (kind_of (S i) j) (run (S t) s (S i) j) = Some (means (S i) j)).
  { apply sweep_left; auto; lia. }
  assert (lt : run (S t) s (S i) j < size T) by (apply made_run; auto; lia).
  assert (stands_if : reads T (run (S t) s (S i) j) = (if blank (S i) j then None else Some (fst (means (S i) j))) ->
                      rested (S i) j (run (S t) s (S i) j)).
  { intros read. split; [assumption|]. split; [assumption|]. destruct (blank (S i) j) eqn:nothing; [|assumption].
    split; [assumption|]. unfold Rule.blank in nothing. apply andb_true_iff in nothing as [_ nothing].
    rewrite empty_from_step in nothing by assumption. now apply andb_true_iff in nothing. }
  destruct (under s s' states states' t t' j ltac:(lia) ltac:(lia) columns) as [same_below _].
  destruct j as [|j].
  - (* the last column *)
    destruct left as [(_ & _ & narrow) | (c & is_c & _ & stood)]; [pose proof wide; lia|].
    destruct (last_cell s t states ltac:(lia)) as [_ read]. split.
    + rewrite !run_cell. cbn [right_of below]. rewrite same_below, same. reflexivity.
    + apply stands_if. rewrite run_cell, means_is. cbn [right_of below carry_in]. rewrite is_c.
      cbn [Rule.blank Nat.eqb negb andb]. apply (read _ _ _ _ (kind_of_term i 1) stood).
  - assert (right : forall s t, made s -> n + W <= t ->
      run t s (S i) j < size T /\ meaning_of C (kind_of (S i) j) (run t s (S i) j) = Some (means (S i) j)).
    { intros s0 t0 states0 late0. split; [apply made_run; auto; lia | apply sweep_left; auto; lia]. }
    destruct (right s t states late) as [r_lt r_means]. destruct (right s' t' states' late') as [r'_lt r'_means].
    destruct (inner_cell s t j _ states ltac:(lia) columns r_lt r_means) as (_ & rests & border & read).
    destruct (rests _ r'_lt r'_means) as [rests_beside rests_border].
    destruct law as (_ & _ & beside). specialize (beside (S i) (S j) ltac:(lia) ltac:(lia)).
    assert (wants := wanted_is (S j) ltac:(lia)).
    unfold Rule.left_neighbour in beside, wants.
    assert (is_value := means_is R x i (S j)). cbn [carry_in] in is_value.
    rewrite !run_cell. cbn [right_of below]. rewrite <- same_below, <- same.
    destruct left as [(is_none & nothing & narrow) | (c & is_c & inside & stood)].
    + rewrite is_none. split; [now apply rests_border|].
      assert (run_is := run_cell t s (S i) (S j)). cbn [right_of below] in run_is. rewrite is_none in run_is.
      rewrite <- run_is. apply stands_if. rewrite run_is.
      replace (S (S j) <? W) with false in beside, wants by (symmetry; apply Nat.ltb_ge; lia).
      rewrite <- wants. rewrite is_value in beside |- *. now apply border.
    + rewrite is_c. split; [now apply (rests_beside _ _ _ _ (kind_of_term i (S (S j))) stood)|].
      assert (run_is := run_cell t s (S i) (S j)). cbn [right_of below] in run_is. rewrite is_c in run_is.
      rewrite <- run_is. apply stands_if. rewrite run_is.
      replace (S (S j) <? W) with true in beside, wants by (symmetry; now apply Nat.ltb_lt).
      rewrite <- wants. rewrite is_value in beside |- *. cbn [snd].
      now apply (read _ _ _ _ (kind_of_term i (S (S j))) stood).
Qed.

(* Second sweep, from left to right; [k] columns stand to the left. *)
Lemma sweep_right : forall k j, j + S k = W -> forall s s' t t', made s -> made s' ->
  n + W + S k <= t -> n + W + S k <= t' ->
  run t s (S i) j = run t' s' (S i) j /\ rested (S i) j (run t s (S i) j).
Proof.
  induction k as [|k left]; intros j columns s s' [|t] [|t'] states states' late late'; try lia;
    apply cell_rests; auto; try lia; unfold left_of.
  - replace (S j <? W) with false by (symmetry; apply Nat.ltb_ge; lia). split; [reflexivity|]. left.
    repeat split; [|lia]. replace j with (W - 1) by lia. now apply (in_first_column R).
  - replace (S j <? W) with true by (symmetry; apply Nat.ltb_lt; lia).
    destruct (left (S j) ltac:(lia) s s' t t' states states' ltac:(lia) ltac:(lia)) as [same stood].
    split; [now rewrite same|]. right. exists (run t s (S i) (S j)). repeat split; [lia | apply stood ..].
Qed.

Lemma row_settles : settled (S i) (n + 2 * W).
Proof.
  intros s s' states states' t t' j late late' columns. apply (sweep_right (W - S j)); auto; lia.
Qed.

End Row.

(* ---- The lowest row: the same two sweeps ---- *)

Lemma ground_sweep_left : forall s j, made s -> j < W -> forall t, S j <= t ->
  meaning_of C Ground (run t s 0 j) = Some (0, 0).
Proof.
  intros s j states. destruct grid as [empty _].
  induction j as [|j right]; intros columns [|t] late; try lia;
    rewrite run_cell, empty by assumption; cbn [below right_of].
  - apply (ground_last R T C checked). apply side_left; auto; lia.
  - apply (ground_inner R T C checked).
    + apply made_run; auto; lia.
    + apply right; lia.
    + apply side_left; auto; lia.
Qed.

Lemma ground_sweep_right : forall k j, j + S k = W -> forall s s' t t', made s -> made s' ->
  W + S k <= t -> W + S k <= t' -> run t s 0 j = run t' s' 0 j /\ rested 0 j (run t s 0 j).
Proof.
  assert (w := wide). destruct grid as [empty _].
  induction k as [|k left]; intros j columns s s' [|t] [|t'] states states' late late'; try lia.
  all: assert (lt : run (S t) s 0 j < size T) by (apply made_run; auto; lia).
  all: assert (right : forall s t j, made s -> j < W -> W <= t ->
    run t s 0 j < size T /\ meaning_of C Ground (run t s 0 j) = Some (0, 0))
    by (intros s0 t0 j0 states0 columns0 late0; split;
        [apply made_run; auto; lia | apply ground_sweep_left; auto; lia]).
  - destruct j as [|j]; [lia|].
    destruct (right s t j states ltac:(lia) ltac:(lia)) as [r_lt r_means].
    destruct (right s' t' j states' ltac:(lia) ltac:(lia)) as [r'_lt r'_means].
    destruct (ground_rests R T C checked _ None r_lt r_means I I) as [on same].
    specialize (same _ r'_lt r'_means). revert lt. unfold rested.
    rewrite !run_cell, empty by lia. cbn [below right_of Nat.eqb]. unfold left_of.
    replace (S (S j) <? W) with false by (symmetry; apply Nat.ltb_ge; lia). auto.
  - destruct (left (S j) ltac:(lia) s s' t t' states states' ltac:(lia) ltac:(lia)) as [same_left (l_lt & l_on)].
    cbn [Nat.eqb] in l_on. revert lt. unfold rested. rewrite !run_cell, empty by lia. cbn [below]. unfold left_of.
    replace (S j <? W) with true by (symmetry; apply Nat.ltb_lt; lia). rewrite <- same_left. intros lt.
    destruct j as [|j]; cbn [right_of Nat.eqb].
    + split; [reflexivity|]. split; [assumption|]. now apply (ground_corner R T C checked).
    + cbn [right_of] in lt.
      destruct (right s t j states ltac:(lia) ltac:(lia)) as [r_lt r_means].
      destruct (right s' t' j states' ltac:(lia) ltac:(lia)) as [r'_lt r'_means].
      destruct (ground_rests R T C checked _ (Some (run t s 0 (S (S j)))) r_lt r_means l_lt l_on) as [on same]. auto.
Qed.

Lemma ground_settles : settled 0 (2 * W).
Proof. intros s s' states states' t t' j late late' columns. apply (ground_sweep_right (W - S j)); auto; lia. Qed.

(* ---- All rows ---- *)

Lemma rows_settle : forall i, i <= N -> settled i (2 * S i * W).
Proof.
  induction i as [|i lower]; intros rows.
  - replace (2 * 1 * W) with (2 * W) by lia. apply ground_settles.
  - replace (2 * S (S i) * W) with (2 * S i * W + 2 * W) by lia. apply row_settles; [assumption|]. apply lower. lia.
Qed.

Lemma grid_settles : forall s s', made s -> made s' -> forall t t', 2 * S N * W <= t -> 2 * S N * W <= t' ->
  same (S N) W (run t s) (run t' s').
Proof.
  intros s s' states states' t t' late late' i j rows columns.
  apply (rows_settle i ltac:(lia) s s' states states'); auto; nia.
Qed.

(* The frame that any run ends in: here from state 0 in every cell. *)
Definition ending : frame := run (2 * S N * W) (fun _ _ => 0).

Lemma start_made : made (fun _ _ => 0).
Proof.
  assert (some : next T None None None None < size T).
  { apply (stays R T C checked); simpl; auto. apply in_or_app. right; simpl; auto. }
  intros i j _ _. lia.
Qed.

Lemma step_same : forall s s', same (S N) W s s' -> same (S N) W (step T W x s) (step T W x s').
Proof.
  intros s s' equal i j rows columns. unfold step. f_equal.
  - destruct j; simpl; auto. rewrite equal; auto; lia.
  - destruct i; simpl; auto. rewrite equal; auto; lia.
  - unfold left_of. destruct (S j <? W) eqn:inside; auto. apply Nat.ltb_lt in inside. rewrite equal; auto.
Qed.

Lemma rest_stays : forall s, at_rest T (S N) W x s -> forall t, same (S N) W (run t s) s.
Proof.
  intros s still t. induction t as [|t same_before]; intros i j rows columns; [reflexivity|].
  transitivity (step T W x s i j); [|now apply still]. simpl. now apply step_same.
Qed.

Theorem settles : comes_to_rest T (S N) W x ending /\ reading T W ending N = should_read R W x N.
Proof.
  assert (zero := start_made). assert (ends := fun s states => grid_settles s _ states zero).
  split; [split; [now apply made_run | split; [|split]]|].
  - intros i j rows columns. change (step T W x ending) with (run (S (2 * S N * W)) (fun _ _ => 0)).
    apply (ends _ zero); lia.
  - intros s states t late. now apply ends.
  - intros s states still i j rows columns.
    rewrite <- (rest_stays s still (2 * S N * W)) by assumption. now apply ends.
  - apply map_ext_in. intros j among. apply in_rev, in_seq in among.
    destruct (rows_settle N ltac:(lia) _ _ zero zero (2 * S N * W) (2 * S N * W) j) as [_ stood]; try lia.
    fold ending in stood. destruct N as [|n]; [lia|]. destruct stood as (_ & _ & read).
    destruct (blank (S n) j); [apply read | assumption].
Qed.

End Induction.
