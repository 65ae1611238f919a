(* Addition in any base, as a row rule, and the theorem about it. *)

From Coq Require Import List Arith Bool Lia.
From Gridsum Require Import Grid Rule Check Induction Place Soundness Numbers.
Import ListNotations.

Definition is_nothing (m : meaning) : bool := (fst m =? 0) && (snd m =? 0).

(* The value of a cell is its own digit, the digit below and the carry from the right. What is left out:
   - in the first term, under which lies the ground, no carry comes from the right, and nothing but zeros left of it;
   - a 0 over a number has a number on its left;
   - of cells over a blank or the ground, a + or nothing with value 0 has nothing on its left, and a digit 0 may have a
     number on its left only if that is a digit over a blank or the ground too, without a carry. *)
Definition adding (B : nat) : rule := {|
  base := B;
  value := fun _ s d c => let v := own s + d + c in (v mod B, v / B);
  none := is_nothing;
  beside_right := fun first k s right m =>
    implb first ((snd m =? 0) && match s, right with None, Cell _ WithNothing => fst m =? 0 | _, _ => true end);
  beside_left := fun k s m left =>
    negb (is_nothing m) ||
    match k, left with
    | Cell false _, Some (_, _, false) => true
    | Cell false _, _ => false
    | Cell true WithDigit, Some (Cell true WithDigit, lm, false) => snd lm =? 0
    | Cell true _, Some (_, _, false) => false
    | _, _ => true
    end;
|}.

Section Adding.

Variables (B N W : nat) (x : nat -> nat -> symbol).
Hypothesis two : 2 <= B.
Let R := adding B.
Hypothesis grid : filled R W x N.

Notation means := (means R x).
Notation digit i := (fun j => fst (means i j)).
Notation blank := (blank R W x).
Notation low := (low R W x).
Notation carry_in := (carry_in R x).
Notation empty_from := (empty_from R W x).

(* What the rows up to row i say together. *)
Fixpoint total (i : nat) : nat :=
  match i with 0 => 0 | S i' => total i' + weigh B (fun j => own (x i j)) W end.
Hypothesis room : total N < B ^ W.

Lemma is_nothing_eq : forall m, is_nothing m = true <-> m = (0, 0).
Proof.
  intros [d c]. unfold is_nothing. simpl. rewrite andb_true_iff, !Nat.eqb_eq. split; [intros [-> ->] | intros [= -> ->]]; auto.
Qed.

(* A cell's digit and carry make up its value. *)
Lemma value_is : forall i j,
  snd (means (S i) j) * B + fst (means (S i) j) = own (x (S i) j) + fst (means i j) + carry_in (S i) j.
Proof.
  intros i j. rewrite means_is. cbn [value R adding fst snd].
  rewrite (Nat.div_mod_eq (own (x (S i) j) + fst (means i j) + carry_in (S i) j) B) at 3. lia.
Qed.

Lemma digit_small : forall i j, fst (means i j) < B.
Proof.
  intros [|i] j; [simpl; lia|]. rewrite means_is. cbn [value R adding fst]. apply Nat.mod_upper_bound. lia.
Qed.

(* ---- The arithmetic: a row holds its term and the row below, and no carry leaves the grid ---- *)

Lemma row_adds : forall i n,
  weigh B (digit (S i)) n + carry_in (S i) n * B ^ n = weigh B (fun j => own (x (S i) j)) n + weigh B (digit i) n.
Proof.
  intros i. induction n as [|n rest]; [reflexivity|].
  assert (v := value_is i n). cbn [weigh]. rewrite Nat.pow_succ_r'.
  change (carry_in (S i) (S n)) with (snd (means (S i) n)). nia.
Qed.

Lemma total_grows : forall i k, i <= k -> total i <= total k.
Proof. intros i k le. induction le; simpl; lia. Qed.

Lemma row_holds_total : forall i, i <= N -> weigh B (digit i) W = total i /\ (1 <= i -> carry_in i W = 0).
Proof.
  induction i as [|i lower]; intros rows.
  - split; [|lia]. rewrite (weigh_zeros B _ 0 W); simpl; auto; lia.
  - destruct lower as [holds _]; [lia|]. assert (adds := row_adds i W).
    assert (bound := total_grows (S i) N rows). cbn [total] in *. rewrite holds in adds.
    assert (small : carry_in (S i) W = 0) by nia. split; [|auto]. rewrite small in adds. lia.
Qed.

(* Zeros up to the left border have no carries. *)
Lemma zeros_are_nothing : forall i j, 1 <= i <= N -> (forall k, j <= k -> k < W -> fst (means i k) = 0) ->
  forall n k, k + n = W -> j <= k -> carry_in i k = 0 /\ (k < W -> means i k = (0, 0)).
Proof.
  intros [|i] j rows zero; [lia|]. induction n as [|n left]; intros k at_k from.
  - replace k with W by lia. split; [|lia]. now apply row_holds_total.
  - destruct (left (S k) ltac:(lia) ltac:(lia)) as [no_carry _].
    change (carry_in (S i) (S k)) with (snd (means (S i) k)) in no_carry.
    assert (v := value_is i k). specialize (zero k from ltac:(lia)). rewrite no_carry, zero in v. split; [lia|].
    intros _. destruct (means (S i) k). simpl in *. congruence.
Qed.

(* ---- What is left out does not happen ---- *)

Lemma nothing_is_zero : forall i j, means (S i) j = (0, 0) ->
  own (x (S i) j) = 0 /\ fst (means i j) = 0 /\ carry_in (S i) j = 0.
Proof. intros i j zero. assert (v := value_is i j). rewrite zero in v. simpl in v. lia. Qed.

Lemma zero_is_nothing : forall i j, own (x (S i) j) = 0 -> fst (means i j) = 0 -> carry_in (S i) j = 0 ->
  means (S i) j = (0, 0).
Proof.
  intros i j a b c. rewrite means_is. cbn [value R adding]. rewrite a, b, c. cbn [Nat.add].
  rewrite Nat.mod_0_l, Nat.div_0_l by lia. reflexivity.
Qed.

Lemma low_over_zero : forall i j, j < W -> low (S i) j = true -> fst (means i j) = 0.
Proof.
  intros [|i] j columns is_low; [reflexivity|]. change (blank (S i) j = true) in is_low.
  apply andb_true_iff in is_low as [_ nothing]. rewrite empty_from_step in nothing by assumption.
  apply andb_true_iff in nothing as [nothing _]. apply is_nothing_eq in nothing. now rewrite nothing.
Qed.

(* Left of a digit's place nothing but carries could be, and there is none: all is empty. *)
Lemma empty_left : forall i j, S i <= N -> j < W -> low (S i) j = true -> shape_of (x (S i) j) <> WithDigit ->
  means (S i) j = (0, 0) -> forall n, j + n < W -> means (S i) (j + n) = (0, 0) /\ low (S i) (j + n) = true.
Proof.
  intros i j rows columns is_low no_digit zero. induction n as [|n left]; intros inside.
  - rewrite Nat.add_0_r. auto.
  - destruct left as [left left_low]; [lia|]. rewrite Nat.add_succ_r.
    assert (here_low := low_goes_left R W x (S i) (j + n) ltac:(lia) left_low). split; [|assumption].
    destruct grid as [_ terms]. destruct (terms (S i) ltac:(lia)) as (length & _ & _ & digits & _ & nothing).
    apply zero_is_nothing.
    + rewrite nothing; [reflexivity | | lia].
      destruct (lt_dec j length) as [less | more]; [|lia].
      destruct (digits j less) as (d & _ & is_digit). rewrite is_digit in no_digit. now destruct no_digit.
    + apply low_over_zero; [lia | assumption].
    + simpl carry_in. change (snd (means (S i) (j + n)) = 0). now rewrite left.
Qed.

Lemma empty_from_left : forall i j, S i <= N -> j < W -> low (S i) j = true -> shape_of (x (S i) j) <> WithDigit ->
  means (S i) j = (0, 0) -> empty_from (S i) j = true.
Proof.
  intros i j rows columns is_low no_digit zero. apply empty_from_all. intros k from to.
  destruct (empty_left i j rows columns is_low no_digit zero (k - j) ltac:(lia)) as [is_zero _].
  replace (j + (k - j)) with k in is_zero by lia. apply is_nothing_eq. assumption.
Qed.

(* A 0 over a number has a number on its left. *)
Lemma number_on_the_left : forall i j, S i <= N -> 0 < j < W -> low (S i) j = false -> means (S i) j = (0, 0) ->
  empty_from (S i) (S j) = true -> False.
Proof.
  intros [|i] j rows columns high zero empty; [discriminate|].
  change (blank (S i) j = false) in high.
  assert (zeros : forall k, j <= k -> k < W -> fst (means (S i) k) = 0).
  { intros k from to. apply (nothing_is_zero (S i) k). destruct (Nat.eq_dec j k) as [<- | other]; [assumption|].
    rewrite empty_from_all in empty. apply is_nothing_eq. apply empty; lia. }
  assert (all : blank (S i) j = true); [|congruence].
  apply andb_true_iff. split; [destruct j; [lia | reflexivity]|]. apply empty_from_all. intros k from to.
  apply is_nothing_eq. apply (zeros_are_nothing (S i) j ltac:(lia) zeros (W - k) k); lia.
Qed.

Lemma first_term : forall j, 1 <= N -> j < W ->
  snd (means 1 j) = 0 /\ (x 1 j = None -> fst (means 1 j) = 0).
Proof.
  intros j rows columns. assert (term := proj2 grid 1 ltac:(lia)).
  assert (small : own (x 1 j) < B).
  { destruct (what_is_held R W x 1 j term columns) as [(d & lt & ->) | [-> | ->]]; simpl; try lia. exact lt. }
  assert (no_carry : carry_in 1 j = 0).
  { clear small. induction j as [|j right]; [reflexivity|]. change (snd (means 1 j) = 0).
    specialize (right ltac:(lia)). assert (v := value_is 0 j). rewrite right in v.
    assert (own (x 1 j) < B).
    { destruct (what_is_held R W x 1 j term ltac:(lia)) as [(d & lt & ->) | [-> | ->]]; simpl; try lia. exact lt. }
    change (fst (means 0 j)) with 0 in v. nia. }
  assert (v := value_is 0 j). change (fst (means 0 j)) with 0 in v. rewrite no_carry in v.
  split; [nia|]. intros nothing. rewrite nothing in v. cbn [own Nat.add] in v. nia.
Qed.

Theorem adding_is_lawful : lawful R W x N.
Proof.
  split; [|split].
  - intros m nothing. apply is_nothing_eq in nothing. now subst.
  - intros i j rows columns. destruct (i =? 1) eqn:first; [|reflexivity]. apply Nat.eqb_eq in first. subst i.
    destruct (first_term j ltac:(lia) ltac:(lia)) as [no_carry nothing].
    cbn [beside_right R adding implb]. rewrite no_carry. cbn [Nat.eqb andb].
    destruct (x 1 (S j)); [reflexivity|]. unfold kind_of.
    destruct (x 1 j) as [[]|] eqn:held; cbn [shape_of]; try reflexivity. now rewrite nothing.
  - intros [|i] j rows columns; [lia|]. cbn [beside_left R adding].
    destruct (is_nothing (means (S i) j)) eqn:zero; [|reflexivity]. apply is_nothing_eq in zero. cbn [negb orb].
    cbn [kind_of]. unfold left_neighbour. fold (low (S i) j).
    destruct (low (S i) j) eqn:is_low.
    + destruct (S j <? W) eqn:inside; [|now destruct (shape_of (x (S i) j))]. apply Nat.ltb_lt in inside.
      destruct (blank (S i) (S j)) eqn:left_blank.
      { destruct (shape_of (x (S i) j)); auto. cbn [kind_of]. destruct (low (S i) (S j)), (shape_of (x (S i) (S j))); auto. }
      assert (left_low := low_goes_left R W x (S i) j inside is_low). cbn [kind_of]. rewrite left_low.
      assert (no : empty_from (S i) (S j) = true -> False).
      { intros yes. unfold Rule.blank in left_blank. cbn [Nat.eqb negb andb] in left_blank. congruence. }
      destruct (shape_of (x (S i) j)) eqn:shape.
      2, 3: exfalso; apply no; assert (e := empty_from_left i j ltac:(lia) ltac:(lia) is_low ltac:(congruence) zero);
        rewrite empty_from_step in e by lia; now apply andb_true_iff in e.
      assert (below_zero := low_over_zero i (S j) inside left_low).
      assert (no_carry : carry_in (S i) (S j) = 0) by (change (snd (means (S i) j) = 0); now rewrite zero).
      assert (v := value_is i (S j)). rewrite below_zero, no_carry in v.
      assert (term := proj2 grid (S i) ltac:(lia)).
      destruct (what_is_held R W x (S i) (S j) term inside) as [(d & lt & is_d) | [is_plus | is_none]].
      * rewrite is_d in *. cbn [shape_of]. change (base R) with B in lt. cbn [own] in v.
        apply Nat.eqb_eq. nia.
      * exfalso. apply no. apply empty_from_left; auto; try lia; try (rewrite is_plus; discriminate).
        apply zero_is_nothing; auto. now rewrite is_plus.
      * exfalso. apply no. apply empty_from_left; auto; try lia; try (rewrite is_none; discriminate).
        apply zero_is_nothing; auto. now rewrite is_none.
    + assert (number := number_on_the_left i j ltac:(lia) ltac:(lia) is_low zero).
      destruct (S j <? W) eqn:inside.
      * unfold Rule.blank. cbn [Nat.eqb negb andb]. destruct (empty_from (S i) (S j)); [now destruct number | reflexivity].
      * exfalso. apply number. apply Nat.ltb_ge in inside. replace (S j) with W by lia. apply empty_from_end.
Qed.

(* ---- The top row is the sum ---- *)

Lemma where_blanks_end : forall i m, S m <= W -> (forall j, S m <= j -> j < W -> blank i j = true) ->
  exists m', S m' <= W /\ (forall j, j < S m' -> blank i j = false) /\ (forall j, S m' <= j -> j < W -> blank i j = true).
Proof.
  intros i. assert (up : forall j n, j + n < W -> blank i j = true -> blank i (j + n) = true).
  { intros j n. induction n as [|n step]; intros inside nothing; [now rewrite Nat.add_0_r|].
    rewrite Nat.add_succ_r. apply blank_goes_left; [lia|]. apply step; [lia | assumption]. }
  induction m as [|m step]; intros inside blanks.
  - exists 0. repeat split; auto. intros j lt. now replace j with 0 by lia.
  - destruct (blank i (S m)) eqn:nothing.
    + apply step; [lia|]. intros j from to. destruct (Nat.eq_dec j (S m)) as [-> | other]; auto. apply blanks; lia.
    + exists (S m). repeat split; auto. intros j lt. destruct (blank i j) eqn:blank_j; [|reflexivity].
      rewrite <- nothing. replace (S m) with (j + (S m - j)) by lia. symmetry. apply up; [lia | assumption].
Qed.

Lemma row_shows_total : forall i, 1 <= i <= N -> 1 <= W ->
  should_read R W x i
  = repeat None (W - length (numeral B (total i))) ++ map Some (numeral B (total i)).
Proof.
  intros i rows wide.
  destruct (where_blanks_end i (W - 1)) as (m & inside & numbers & blanks); [lia | intros; lia |].
  destruct (row_holds_total i ltac:(lia)) as [holds _].
  assert (all_zero : forall j, S m <= j -> j < W -> fst (means i j) = 0).
  { intros j from to. specialize (blanks j from to). apply andb_true_iff in blanks as [_ nothing].
    rewrite empty_from_step in nothing by assumption. apply andb_true_iff in nothing as [nothing _].
    apply is_nothing_eq in nothing. now rewrite nothing. }
  assert (first : m = 0 \/ fst (means i m) <> 0).
  { destruct m as [|m]; auto. right. intros zero. specialize (numbers (S m) ltac:(lia)).
    unfold Rule.blank in numbers. cbn [Nat.eqb negb andb] in numbers.
    assert (all : empty_from i (S m) = true); [|congruence]. apply empty_from_all. intros k from to.
    apply is_nothing_eq. apply (zeros_are_nothing i (S m) rows) with (n := W - k); try lia.
    intros j from_j to_j. destruct (Nat.eq_dec j (S m)) as [-> | other]; [assumption | apply all_zero; lia]. }
  assert (is_numeral : numeral B (total i) = map (digit i) (rev (seq 0 (S m)))).
  { rewrite <- holds, (weigh_zeros B _ (S m) W) by assumption.
    apply numeral_unique; auto. intros j _. apply digit_small. }
  rewrite is_numeral, map_length, rev_length, seq_length, map_map. unfold should_read.
  replace W with (S m + (W - S m)) at 1 by lia. rewrite seq_app, rev_app_distr, map_app. cbn [Nat.add]. f_equal.
  - assert (same : forall l, (forall j, In j l -> blank i j = true) ->
      map (fun j => if blank i j then None else Some (fst (means i j))) l = repeat None (length l)).
    { induction l as [|j l rest]; intros all; [reflexivity|]. cbn [map length repeat].
      rewrite all by now left. f_equal. apply rest. intros; apply all. now right. }
    rewrite same, rev_length, seq_length; [reflexivity|].
    intros j among. apply in_rev, in_seq in among. apply blanks; lia.
  - apply map_ext_in. intros j among. apply in_rev, in_seq in among. rewrite numbers by lia. reflexivity.
Qed.

End Adding.

(* ---- The theorem ---- *)

Definition sum (B : nat) (terms : list (list nat)) : nat := list_sum (map (number B) terms).

Lemma total_is_sum : forall B W x terms, Forall (fun t => length t <= W) terms ->
  (forall i j, i < length terms -> own (x (S i) j) = nth j (rev (nth i terms [])) 0) ->
  forall n, n <= length terms -> total B W x n = sum B (firstn n terms).
Proof.
  intros B W x terms fit owns. induction n as [|n step]; intros lt; [reflexivity|].
  cbn [total]. rewrite step by lia.
  rewrite (weigh_ext B _ (fun j => nth j (rev (nth n terms [])) 0)) by (intros; apply owns; lia).
  rewrite number_weighs by (rewrite Forall_forall in fit; apply fit, nth_In; lia).
  unfold sum. clear - lt. generalize dependent n. induction terms as [|t terms rest]; intros n lt; [simpl in lt; lia|].
  destruct n as [|n]; cbn [firstn map list_sum fold_right nth]; [simpl; lia|].
  simpl in lt. specialize (rest n ltac:(lia)). cbn [firstn map list_sum fold_right] in *. unfold list_sum in *. lia.
Qed.

(* A rule that passes the checks adds any number of terms of any length. *)
Theorem addition : forall B T C, 2 <= B -> check (adding B) T C = true ->
  (* terms of at least one digit each, and a grid of H rows and W columns as solving makes it; blanks may follow *)
  forall (terms : list (list nat)) (W pads : nat),
  terms <> [] ->
  Forall (fun term => term <> [] /\ Forall (fun d => d < B) term /\ length term + 2 <= W) terms ->
  sum B terms < B ^ W ->
  let H := length terms + 1 in
  let x := symbols T H W (render terms ++ repeat Pad pads) in
  exists rest, comes_to_rest T H W x rest
    /\ reading T W rest (H - 1)
       = repeat None (W - length (numeral B (sum B terms))) ++ map Some (numeral B (sum B terms)).
Proof.
  intros B T C two ok terms W pads some fit room H x.
  assert (checked := check_holds _ _ _ ok).
  assert (is_H : H = S (length terms)) by (unfold H; lia).
  destruct (symbols_are _ _ _ checked W terms pads some fit) as [grid owns].
  rewrite <- is_H in grid, owns. fold x in grid, owns.
  assert (positive : 1 <= length terms) by (destruct terms; [congruence | simpl; lia]).
  assert (three := wide _ _ _ _ positive grid).
  assert (is_sum : total B W x (length terms) = sum B terms).
  { rewrite (total_is_sum B W x terms); [now rewrite firstn_all | | assumption | lia].
    eapply Forall_impl; [|exact fit]. simpl. intros t (_ & _ & long). lia. }
  rewrite <- is_sum in room |- *.
  destruct (soundness _ _ _ ok terms W pads some fit (adding_is_lawful B _ W x two grid room)) as (rest & rests & read).
  exists rest. split; [exact rests|]. unfold H. rewrite read, Nat.add_sub.
  apply (row_shows_total B (length terms) W x two room); lia.
Qed.
